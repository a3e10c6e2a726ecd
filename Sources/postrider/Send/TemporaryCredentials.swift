import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderRelay

/// The credentials of a load run at a relay that it did not start: topics, a provider key, and the enrolment of its
/// devices. They are made through the control socket, and removed after the run.
struct TemporaryCredentials: Sendable {
    /// The topics of the apps.
    let topics: [Topic]
    /// Signs provider tokens with the key.
    let signer: ProviderTokenMaker
    /// The enrolment of the devices.
    let enrolment: FleetEnrolment
    private let client: ControlClient
    private let keyIdentifier: String

    /// Makes the credentials under unique names.
    static func make(_ client: ControlClient, apps: Int) async throws -> TemporaryCredentials {
        let run = FleetEnrolment.newRun()
        let (team, keyIdentifier) = ("LOA" + run.uppercased(), "LOK" + run.uppercased())
        let topics = (0..<apps).compactMap { Topic("load.\(run).app-\($0)") }
        let key = ES256.PrivateKey.generate()
        let provision = TemporaryCredentials(
            topics: topics,
            signer: ProviderTokenMaker(key: key, keyIdentifier: keyIdentifier, team: team),
            enrolment: try await .make(client, name: "load-\(run)"), client: client,
            keyIdentifier: keyIdentifier)
        do {
            for topic in topics {
                let addition = Control.TopicAddition(team: team)
                _ = try await client.request("PUT", "/v1/topics/\(topic.text)", body: encode(addition))
            }
            let addition = Control.ProviderKeyAddition(team: team, publicKey: key.publicKey.pem)
            _ = try await client.request("PUT", "/v1/keys/\(keyIdentifier)", body: encode(addition))
        } catch {
            _ = await provision.remove()
            throw error
        }
        return provision
    }

    /// Removes the credentials. If that fails, it reports what is left and returns false instead of throwing, because
    /// the measured figures must be reported all the same.
    func remove() async -> Bool {
        let isRidOfDevices = await enrolment.remove()
        let paths = ["/v1/keys/\(keyIdentifier)"] + topics.map { "/v1/topics/\($0.text)" }
        guard (try? await client.delete(paths, withinSeconds: 10)) != 0 else { return isRidOfDevices }
        Console.complain(
            "postrider: The key \(keyIdentifier) and topics such as \(topics.first?.text ?? "") may still be "
                + "at the relay; remove them with the operator's commands.")
        return false
    }

    private static func encode(_ body: some Encodable) throws -> [UInt8] {
        Array(try JSONEncoder().encode(body))
    }
}
