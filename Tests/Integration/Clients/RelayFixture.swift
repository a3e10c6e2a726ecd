import Foundation
import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import PostriderTLS
import Testing

@testable import PostriderTransport

/// A real relay on its own threads with a store in memory, and a loop for its clients.
final class RelayFixture {
    static let topic = "org.example.app"
    static let enrolmentKey = "enrol-test"

    let loop: EventLoop
    let relay: Relay
    let tls: TestTLS
    let signingKey = ES256.PrivateKey.generate()
    private let folder: TemporaryFolder
    private let configuration: RelayConfiguration

    init(
        shards: Int = 2, fetches: Int = Limits.fetches.usual, records: TLSRecords = .own
    ) async throws {
        loop = try EventLoop()
        tls = try TestTLS.shared.get()
        folder = try TemporaryFolder()
        var configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress("127.0.0.1:0")],
            deviceAddresses: [try SocketAddress("127.0.0.1:0")],
            controlAddress: try folder.address("control.sock"),
            certificateChainFile: folder.write(tls.chain, to: "chain.pem"),
            privateKeyFile: folder.write(tls.key, to: "key.pem"),
            shards: shards,
            user: getuid()
        )
        configuration.deviceFetches = fetches
        configuration.tlsRecords = records
        configuration.developmentProviderAddresses = [try SocketAddress("127.0.0.1:0")]
        self.configuration = configuration
        let changes = try Self.registry(signingKey.publicKey)
        relay = try await Relay.start(configuration, log: .none) {
            let store = MemoryStore()
            store.apply(changes) { _ in }
            return store
        }
    }

    private static func registry(_ key: ES256.PublicKey) throws -> [RegistryChange] {
        let topic = try #require(Topic(topic))
        let moment = Moment(milliseconds: 0)
        return [
            .putProviderKey(
                ProviderKeyRecord(identifier: "KEY1", team: "TEAM1", publicKey: key.pem, addedAt: moment)),
            .putTopic(TopicRecord(topic: topic, team: "TEAM1")),
            .putEnrolmentKey(
                EnrolmentKeyRecord(
                    name: "test", digest: EnrolmentKey.digest(enrolmentKey), addedAt: moment)),
        ]
    }

    /// Reloads the relay with changed settings.
    func reload(_ change: (inout RelayConfiguration) -> Void) async throws {
        var changed = configuration
        change(&changed)
        try await relay.reload(changed)
    }

    /// Ends the relay; its clients continue.
    func stop() async {
        let relay = relay
        await loop.turn(until: Task { await relay.stop() })
    }

    var devices: Server { Server(.address(relay.deviceAddresses[0]), tls: tls.client) }
    var providers: Server { Server(.address(relay.providerAddresses[0]), tls: tls.client) }
    var control: Server { get throws { Server(socket: try folder.address("control.sock")) } }

    /// Enrols a device.
    func enrol(
        key: String = enrolmentKey, at server: Server? = nil
    ) throws -> Result<EnrollResponse, EnrolmentError> {
        var answer: Result<EnrollResponse, EnrolmentError>?
        DeviceClient.enrol(at: server ?? devices, key: key, name: "test device", on: loop) { answer = $0 }
        loop.turn { answer != nil }
        return try #require(answer)
    }

    /// Makes a provider client of the topic's team.
    func makeProvider(
        key: ES256.PrivateKey? = nil, in environment: PostriderNotifications.Environment = .production
    ) throws -> ProviderClient {
        let tokens = ProviderTokenMaker(key: key ?? signingKey, keyIdentifier: "KEY1", team: "TEAM1")
        let address =
            environment == .production
            ? relay.providerAddresses[0] : try #require(relay.developmentProviderAddresses.first)
        return ProviderClient(to: Server(.address(address), tls: tls.client), tokens: tokens, on: loop)
    }

    /// Pushes and waits for the outcome.
    func push(_ push: Push, _ provider: ProviderClient) throws -> PushOutcome {
        var outcome: Result<PushOutcome, ClientError>?
        try provider.push(push) { outcome = $0 }
        loop.turn { outcome != nil }
        return try #require(outcome).get()
    }

    /// The counters that the operator sees.
    func counters() throws -> Control.Status.Counters { try status().counters }

    /// The status that the operator sees.
    func status() throws -> Control.Status {
        var body: [UInt8]?
        let client = RequestClient(to: try control, on: loop)
        try client.send(client.makeHead("GET", "/v1/status")) { body = try? $0.get().body }
        loop.turn { body != nil }
        return try JSONDecoder().decode(Control.Status.self, from: Data(try #require(body)))
    }

    /// Makes a configuration for an enrolled device.
    func deviceConfiguration() throws -> DeviceClient.Configuration {
        let enrolment = try enrol().get()
        return DeviceClient.Configuration(
            relays: [devices], identity: enrolment.deviceIdentity, secret: enrolment.deviceSecret,
            agent: "test/1")
    }
}

/// An owner of a device client that records its events, and can acknowledge at once.
final class Recorder: DeviceClientDelegate {
    var log: [String] = []
    var tokens: [String: DeviceToken] = [:]
    var refusals: [Refused] = []
    var delivered: [Deliver] = []
    var links: [LinkNumber] = []
    var welcomes: [Welcome] = []
    var ends: [(end: LinkEnd, nextAttemptMilliseconds: Int?)] = []
    var onEnd: () -> Void = {}
    var onDelivery: (Deliver, LinkNumber) -> Void = { _, _ in }

    func receive(_ event: DeviceClientEvent) {
        switch event {
        case .willConnect: log.append("will connect")
        case .didConnect(let welcome):
            log.append("did connect")
            welcomes.append(welcome)
            for registration in welcome.registrations {
                tokens[registration.topic] = registration.deviceToken
            }
        case .didDisconnect(let end, let next):
            log.append("did disconnect")
            ends.append((end, next))
            onEnd()
        case .registered(let registration): tokens[registration.topic] = registration.deviceToken
        case .unregistered(let topic): tokens[topic] = nil
        case .refused(let refusal): refusals.append(refusal)
        case .delivered(let deliver, let link):
            delivered.append(deliver)
            links.append(link)
            onDelivery(deliver, link)
        case .willDisconnect, .keepaliveChanged, .confirmed, .subscribed, .unsubscribed, .broadcast: break
        }
    }
}
