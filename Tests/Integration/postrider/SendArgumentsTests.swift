import Foundation
import PostriderClients
import PostriderNotifications
import PostriderOptions
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("What postrider send is told to do")
struct SendArgumentsTests {
    private let folder = DevFolder.fresh()
    private let token = String(repeating: "5f", count: 32)

    /// Parses arguments in a directory where `postrider dev` has run.
    private func order(_ arguments: [String]) throws -> SendArguments {
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        try folder.sampleValues.write(to: folder)
        defer { folder.remove() }
        return try SendArguments(SendCommand.table.parse(["--directory", folder.path] + arguments))
    }

    @Test("needs nothing but a device and a text where postrider dev has been")
    func dev() throws {
        let order = try order(["--alert", "Hi \"you\"", token])
        let push = order.push(to: token)
        #expect(order.targets == [SendTarget(token: token)])
        #expect(order.relay.destination.description == "127.0.0.1:11")
        #expect(push.deviceToken == token)
        #expect(push.topic?.text == "com.example.app")
        #expect(push.pushType == .alert)
        #expect(String(decoding: push.payload, as: UTF8.self) == #"{"aps":{"alert":"Hi \"you\""}}"#)
        #expect(push.identity == nil && push.priority == nil && push.expiration == nil)
    }

    @Test("goes to the port of its environment where postrider dev has been, and to no other relay's")
    func environment() throws {
        let order = try order(["--alert", "x", "--environment", "development", token])
        #expect(order.relay.destination.description == "127.0.0.1:13")
        let elsewhere = ["--relay", "127.0.0.1:1", "--environment", "production", "--alert", "x", token]
        let error = #expect(throws: UsageError.self) {
            try SendArguments(SendCommand.table.parse(elsewhere))
        }
        #expect(error?.description.contains("--environment") == true)
    }

    @Test(
        "makes the pushes of a file again, and then takes nothing that says what to push or to whom",
        arguments: [["--title", "T"], ["--tag", "lobby"], ["--wait", "done"], ["5f5f"]])
    func replay(_ extra: [String]) async throws {
        let error = await #expect(throws: UsageError.self) {
            try await SendCommand.run(["--replay", "day.jsonl"] + extra)
        }
        #expect(error?.description.contains("leave out \(extra[0])") == true)
    }

    @Test("waits with a provider's key for a hundred devices at most, and says so before it pushes")
    func manyToWaitFor() async throws {
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        defer { folder.remove() }
        let options = [
            "--relay", "127.0.0.1:1", "--key-file", folder.providerKeyFile, "--key-id", "DEVKEY0001",
            "--team-id", "DEVTEAM001", "--topic", "com.example.app", "--alert", "x", "--wait", "done",
        ]
        let tokens = (0...PushInquiry.mostPushes).map { _ in token }
        let error = await #expect(throws: CommandFailure.self) { try await SendCommand.run(options + tokens) }
        #expect(error?.sentence.contains("for 100 devices at most, not 101") == true)
    }

    @Test("has a speed for a replay alone")
    func speed() async throws {
        let error = await #expect(throws: UsageError.self) {
            try await SendCommand.run(["--speed", "10", "--alert", "Hi", token])
        }
        #expect(error?.description.contains("--speed goes with --replay") == true)
    }

    @Test("has a field for every header")
    func headers() throws {
        let order = try order([
            "--title", "T", "--body", "B", "--topic", "a.b", "--push-type", "background", "--priority", "5",
            "--expiration", "1700000000", "--collapse-id", "c", "--apns-id",
            "123e4567-e89b-12d3-a456-42665544000a", "--token", token,
        ])
        let push = order.push(to: token)
        #expect(
            String(decoding: push.payload, as: UTF8.self) == #"{"aps":{"alert":{"body":"B","title":"T"}}}"#)
        #expect(push.topic?.text == "a.b")
        #expect(push.pushType == .background)
        #expect(push.priority == .considerate)
        #expect(push.expiration == .at(Moment(seconds: 1_700_000_000)))
        #expect(push.collapseIdentifier == "c")
        #expect(push.identity?.description == "123E4567-E89B-12D3-A456-42665544000A")
    }

    @Test("sends a payload as it is, with no type of its own")
    func rawPayload() throws {
        let push = try order(["--payload", " {not json", "--expiration", "0", token, "ab"]).push(to: "ab")
        #expect(String(decoding: push.payload, as: UTF8.self) == " {not json")
        #expect(push.pushType == nil)
        #expect(push.expiration == .nowOrNever)
    }

    @Test(
        "is refused with a sentence where it is not clear",
        arguments: [
            (["ab"], "--payload-file"), (["--alert", "x"], "DEVICE-TOKEN"), (["--alert", "x", "xy"], "xy"),
            (["--alert", "x", "--payload", "{}", "ab"], "--payload"),
            (["--alert", "x", "--priority", "7", "ab"], "--priority"),
            (["--alert", "x", "--push-type", "x", "ab"], "--push-type"),
            (["--alert", "x", "--expiration", "-1", "ab"], "--expiration"),
            (["--alert", "x", "--topic", "a b", "ab"], "--topic"),
            (["--alert", "x", "--apns-id", "1", "ab"], "--apns-id"),
            (
                ["--alert", "x", "--apns-id", "123e4567-e89b-12d3-a456-42665544000a", "ab", "cd"],
                "--apns-id"
            ),
            (["--alert", "x", "--relay", "127.0.0.1:1", "ab"], "--directory"),
            (["--alert", "x", "--port", "1", "ab"], "--host"),
        ]
    )
    func mistakes(_ arguments: [String], _ word: String) throws {
        do {
            _ = try order(arguments)
            Issue.record("understood")
        } catch let error as UsageError {
            #expect(error.description.contains(word))
        }
    }
}

extension DevFolder {
    /// The values that `postrider dev` would print for this folder.
    var sampleValues: DevValues {
        DevValues(
            host: "127.0.0.1", providerPort: 11, developmentProviderPort: 13, devicePort: 12,
            authorityFile: authorityFile,
            keyFile: providerKeyFile, keyIdentifier: DevFolder.keyIdentifier,
            providerCertificateFile: providerCertificateFile,
            providerCertificateKeyFile: providerCertificateKeyFile, team: DevFolder.team,
            topics: ["com.example.app"], enrolmentKey: "enrol-1", enrolmentKeyFile: enrolmentKeyFile,
            controlAddress: "unix:" + controlSocket, process: 1)
    }
}
