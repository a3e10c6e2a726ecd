import Foundation
import PostriderClients
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import PostriderTLS
import Testing

@testable import PostriderAgent
@testable import PostriderTransport

/// A real relay with its store in memory, and the keys for a provider and a device.
final class RelayInProcess {
    static let topic = "com.example.one"
    static let enrolmentKey = "enrol-test"

    let relay: Relay
    private let scratch: Scratch
    private let key = ES256.PrivateKey.generate()
    private let configuration: RelayConfiguration
    private let trustFile: String

    init() async throws {
        let scratch = Scratch()
        func write(_ text: String, _ name: String) -> String {
            let path = scratch.path + "/" + name
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: mode)
            return path
        }
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let leaf = try Certificates.issue(
            commonName: "localhost", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], usage: .server,
            validDays: 1, authority: authority)
        trustFile = write(authority.certificate, "ca.pem")
        configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress("127.0.0.1:0")],
            deviceAddresses: [try SocketAddress("127.0.0.1:0")],
            controlAddress: try SocketAddress(unixPath: scratch.path + "/control.sock"),
            certificateChainFile: write(leaf.certificate, "chain.pem"),
            privateKeyFile: write(leaf.key, "key.pem"),
            shards: 2,
            user: getuid()
        )
        self.scratch = scratch
        let moment = Moment(milliseconds: 0)
        let changes: [RegistryChange] = [
            .putProviderKey(
                ProviderKeyRecord(
                    identifier: "KEY1", team: "TEAM1", publicKey: key.publicKey.pem, addedAt: moment)),
            .putTopic(TopicRecord(topic: try #require(Topic(Self.topic)), team: "TEAM1")),
            .putEnrolmentKey(
                EnrolmentKeyRecord(
                    name: "test", digest: EnrolmentKey.digest(Self.enrolmentKey), addedAt: moment)),
        ]
        relay = try await Relay.start(configuration, log: .none) {
            let store = MemoryStore()
            store.apply(changes) { _ in }
            return store
        }
    }

    /// Makes the configuration of an agent of this relay.
    func agentConfiguration(_ scratch: Scratch, key: String? = enrolmentKey) throws -> AgentConfiguration {
        var configuration = AgentConfiguration(
            relays: [.address(relay.deviceAddresses[0])], stateDirectory: scratch.state,
            socketPath: scratch.socket,
            name: "test device", version: "test/1")
        configuration.trustFile = trustFile
        configuration.enrolmentKey = key
        return configuration
    }

    /// Pushes as a provider does, and returns the status.
    func push(_ payload: String, to token: String) throws -> Int {
        let loop = try EventLoop()
        let server = Server(
            .address(relay.providerAddresses[0]),
            tls: try TLSContext.client(trustFile: trustFile, alpn: ["h2"]))
        let client = RequestClient(to: server, on: loop)
        var head = client.makeHead("POST", "/3/device/\(token)")
        head.add("authorization", "bearer \(providerToken())")
        head.add("apns-topic", Self.topic)
        var status: Int?
        try client.send(head, body: Array(payload.utf8)) { result in status = (try? result.get().status) ?? 0
        }
        while status == nil { loop.turn() }
        client.close()
        return try #require(status)
    }

    private func providerToken() -> String {
        func base64(_ bytes: [UInt8]) -> String {
            Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let header = base64(Array(#"{"alg":"ES256","kid":"KEY1"}"#.utf8))
        let claims = base64(Array(#"{"iss":"TEAM1","iat":\#(Int(Date().timeIntervalSince1970))}"#.utf8))
        let message = Array("\(header).\(claims)".utf8)
        return "\(header).\(claims).\(base64(key.signature(for: message.span)))"
    }
}
