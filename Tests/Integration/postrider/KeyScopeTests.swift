import Foundation
import PostriderCrypto
import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The operator's keys")
struct KeyScopeTests {
    /// Returns the result of `postrider keys add` with these options.
    private func add(
        _ identifier: String, _ options: String..., on client: ControlClient, _ folder: DevFolder
    )
        async -> Int32
    {
        await ControlTests.run(
            ["keys", "add", folder.providerKeyFile, "--team-id", "TEAM", "--key-id", identifier] + options,
            on: client)
    }

    private func keys(_ client: ControlClient) async throws -> [Control.ProviderKey] {
        try await client.list("/v1/keys", of: [Control.ProviderKey].self).0
    }

    @Test("are added with an environment, topics and a related key, and listed with them")
    func scope() async throws {
        try await ControlTests.withRelay { client, folder in
            let production = ["--environment", "production"]
            #expect(await add("LEGACY", on: client, folder) == 0)
            #expect(await add("TEAM", "--environment", "development", on: client, folder) == 0)
            #expect(
                await add(
                    "A", production[0], production[1], "-t", "a.b", "-t", "a.b.voip", on: client, folder)
                    == 0)
            #expect(
                await add(
                    "B", production[0], production[1], "-t", "a.c", "--related", "A", on: client, folder)
                    == 0)
            let keys = try await keys(client)
            #expect(keys.map(\.identifier) == ["A", "B", "LEGACY", "TEAM"])
            #expect(keys.map(\.environment) == [.production, .production, nil, .development])
            #expect(keys.map(\.topics) == [["a.b", "a.b.voip"], ["a.c"], nil, nil])
            #expect(keys.map(\.relatedKey) == [nil, "A", nil, nil])
            #expect(await ControlTests.run(["keys", "list"], on: client) == 0)
        }
    }

    @Test("may be for as many topics as there can be, each as long as can be")
    func longest() async throws {
        try await ControlTests.withRelay { client, folder in
            let topics = (0..<Limits.topicsPerKey).map { number in
                "\(number + 100)." + String(repeating: "a", count: Limits.topicBytes - 4)
            }
            let words = ["keys", "add", folder.providerKeyFile, "--team-id", "TEAM", "--key-id", "K"]
            let scope = ["--environment", "production"] + topics.flatMap { ["-t", $0] }
            #expect(await ControlTests.run(words + scope, on: client) == 0)
            let made = try await keys(client)
            #expect(made.first?.topics?.count == topics.count)
        }
    }

    @Test("are revoked: they stay in the list, with the moment, until they are added anew")
    func revocation() async throws {
        try await ControlTests.withRelay { client, folder in
            #expect(await add("K", on: client, folder) == 0)
            #expect(await ControlTests.run(["keys", "revoke", "K"], on: client) == 0)
            let moment = try #require(try await keys(client).first?.revokedAt)
            #expect(await ControlTests.run(["keys", "revoke", "K"], on: client) == 0)
            #expect(try await keys(client).first?.revokedAt == moment)
            #expect(await add("K", on: client, folder) == 0)
            #expect(try await keys(client).first?.revokedAt == nil)
            #expect(await ControlTests.run(["keys", "revoke", "NOBODY"], on: client) == 1)
        }
    }

    @Test("are not replaced by other keys of their identifier, or for other teams, unless that is wished")
    func replacement() async throws {
        try await ControlTests.withRelay { client, folder in
            let own = try ES256.PrivateKey(pem: FileText.read(folder.providerKeyFile, "The key")).publicKey
                .pem
            let foreign = ES256.PrivateKey.generate().publicKey.pem
            func refusal(_ team: String, _ key: String, replaces: Bool? = nil) async throws -> String? {
                let addition = Control.ProviderKeyAddition(team: team, publicKey: key, replaces: replaces)
                do {
                    let body = Array(try Console.json(addition).utf8)
                    _ = try await client.request("PUT", "/v1/keys/K", body: body)
                    return nil
                } catch let error as CommandFailure {
                    return error.sentence
                }
            }
            let advice =
                " already: remove it first, or add this one in its place (--replace; \"replaces\": true)."
            #expect(await add("K", on: client, folder) == 0)
            #expect(await add("K", on: client, folder) == 0, "the same key again is no other")
            #expect(try await refusal("TEAM", own + "\n") == nil, "nor is it where it is written otherwise")
            #expect(try await refusal("TEAM", foreign) == "There is another key K, of team TEAM,\(advice)")
            #expect(try await refusal("OTHER", own) == "There is that key K, of team TEAM,\(advice)")
            #expect(try await refusal("OTHER", foreign, replaces: false)?.hasSuffix(advice) == true)
            #expect(try await keys(client).map(\.team) == ["TEAM"])

            #expect(try await refusal("OTHER", foreign, replaces: true) == nil)
            #expect(try await keys(client).map(\.team) == ["OTHER"])
            #expect(await add("K", on: client, folder) == 1)
            #expect(try await keys(client).map(\.team) == ["OTHER"])
            #expect(await add("K", "--replace", on: client, folder) == 0)
            #expect(try await keys(client).map(\.team) == ["TEAM"])
        }
    }

    @Test("have Apple's bounds, told in one sentence (3.2, key scopes)")
    func bounds() async throws {
        // With three more keys, the number of topic-specific keys is at its limit.
        let topics = ["a.b"].compactMap(Topic.init)
        let many = (3..<Limits.topicKeysPerEnvironment).map { number in
            RegistryChange.putProviderKey(
                ProviderKeyRecord(
                    identifier: "N\(number)", team: "TEAM", publicKey: "", addedAt: Moment(milliseconds: 1),
                    environment: .production, topics: topics))
        }
        try await ControlTests.withRelay(holding: many) { client, folder in
            let key = try ES256.PrivateKey(pem: FileText.read(folder.providerKeyFile, "The key")).publicKey
                .pem
            func refusal(
                _ identifier: String, _ environment: PostriderNotifications.Environment? = .production,
                _ topics: [String]? = nil, related: String? = nil
            ) async throws -> String? {
                let addition = Control.ProviderKeyAddition(
                    team: "TEAM", publicKey: key, environment: environment, topics: topics,
                    relatedKey: related)
                do {
                    let body = Array(try Console.json(addition).utf8)
                    _ = try await client.request("PUT", "/v1/keys/\(identifier)", body: body)
                    return nil
                } catch let error as CommandFailure {
                    return error.sentence
                }
            }
            #expect(try await refusal("T1") == nil)
            #expect(try await refusal("T2") == nil)
            #expect(try await refusal("T3")?.hasPrefix("Team TEAM has 2 keys for that environment") == true)
            #expect(try await refusal("T2") == nil, "one that is replaced is not one more")
            #expect(try await refusal("T3", .development) == nil)
            #expect(try await refusal("L", nil) == nil)
            #expect(await ControlTests.run(["keys", "revoke", "T1"], on: client) == 0)
            #expect(try await refusal("T3") == nil, "a revoked key makes room")

            #expect(try await refusal("A", nil, ["a.b"])?.contains("say which") == true)
            #expect(try await refusal("A", .production, [])?.contains("from 1 to 400 topics") == true)
            let many = (0...Limits.topicsPerKey).map { "a.b\($0)" }
            #expect(try await refusal("A", .production, many)?.contains("from 1 to 400 topics") == true)
            #expect(try await refusal("A", .production, ["a/b"])?.contains("bundle identifiers") == true)
            #expect(try await refusal("A", .production, nil, related: "B")?.contains("Only a topic") == true)
            #expect(try await refusal("A", .production, Array(many.dropLast())) == nil)
            for stranger in ["T2", "A", "NOBODY"] {
                let sentence = try await refusal("A", .production, ["a.b"], related: stranger)
                #expect(sentence?.hasPrefix("The related key \(stranger) must be there") == true)
            }
            #expect(try await refusal("B", .production, ["a.b"], related: "A") == nil)
            #expect(try await refusal("A", .production, ["a.b"], related: "B") == nil)
            #expect(
                try await refusal("C", .production, ["a.b"], related: "A")?.contains("at most one") == true)
            #expect(try await refusal("C", .production, ["a.b"]) == nil)
            #expect(
                try await refusal("C", .production, ["a.b"], related: "B")?.contains("at most one") == true)
            #expect(
                try await refusal("A", .production, ["a.b"], related: "C")?.contains("at most one") == true)
            #expect(
                try await refusal("D", .development, ["a.b"], related: "A")?.contains("must be there") == true
            )
            #expect(
                try await refusal("LAST", .production, ["a.b"])?.contains("has 200 topic-specific keys")
                    == true)
        }
    }
}
