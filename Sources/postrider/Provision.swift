import Clients
import Crypto
import Foundation
import Notifications
import Relay

/// What a load run needs of a relay that it did not start: topics, a provider key and an enrolment key of its own, made
/// through the control socket and taken away again, with the devices that came of them.
struct Provision: Sendable {
    /// The topics of the apps.
    let topics: [Topic]
    /// Signs provider tokens with the key.
    let signer: ProviderTokenMaker
    /// What devices enrol with.
    let enrolmentKey: String
    /// The key's name, and how the names of the devices begin.
    let enrolmentKeyName: String
    private let client: ControlClient
    private let keyIdentifier: String

    /// Makes all of it, under names that no other run has.
    static func make(_ client: ControlClient, apps: Int) async throws -> Provision {
        let digits = String(UInt32.random(in: 0 ... .max), radix: 36).uppercased()
        let run = String(repeating: "0", count: 7 - digits.count) + digits
        let (team, keyIdentifier) = ("LOA" + run, "LOK" + run)
        let topics = (0..<apps).compactMap { Topic("load.\(run.lowercased()).app-\($0)") }
        let key = ES256.PrivateKey.generate()
        for topic in topics {
            let addition = Control.TopicAddition(team: team)
            _ = try await client.request("PUT", "/v1/topics/\(topic.text)", body: encode(addition))
        }
        let addition = Control.ProviderKeyAddition(team: team, publicKey: key.publicKey.pem)
        _ = try await client.request("PUT", "/v1/keys/\(keyIdentifier)", body: encode(addition))
        let name = "load-" + run.lowercased()
        let answer = try await client.request("PUT", "/v1/enrolment-keys/\(name)")
        let made = try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
        return Provision(
            topics: topics,
            signer: ProviderTokenMaker(key: key, keyIdentifier: keyIdentifier, team: team),
            enrolmentKey: made.key, enrolmentKeyName: name, client: client, keyIdentifier: keyIdentifier)
    }

    /// Takes it away again. Where that cannot be done it says what is left, and answers false, for what was measured
    /// is to be told all the same.
    @discardableResult
    func remove() async -> Bool {
        do {
            try await removeAll()
            return true
        } catch {
            Console.complain("postrider: \(error)")
            Console.complain(
                "postrider: What was made for this run may still be at the relay: the enrolment key "
                    + "\(enrolmentKeyName), devices of that name, the key \(keyIdentifier), topics such as "
                    + "\(topics.first?.text ?? ""); remove them with the operator's commands.")
            return false
        }
    }

    /// First what lets devices in, then the devices, then the rest.
    private func removeAll() async throws {
        _ = try await client.request("DELETE", "/v1/enrolment-keys/\(enrolmentKeyName)")
        // Also one that enrolled and came no further.
        for device in try await client.list("/v1/devices", of: [Control.Device].self).item
        where device.name.hasPrefix(enrolmentKeyName + "-") {
            _ = try await client.request("DELETE", "/v1/devices/\(device.identity)")
        }
        _ = try await client.request("DELETE", "/v1/keys/\(keyIdentifier)")
        for topic in topics { _ = try await client.request("DELETE", "/v1/topics/\(topic.text)") }
    }

    private static func encode(_ body: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder().encode(body))
    }
}
