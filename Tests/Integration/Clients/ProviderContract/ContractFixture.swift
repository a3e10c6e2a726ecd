import Foundation
import PostriderClients
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderProviderAPI
@testable import PostriderRelay
@testable import PostriderTransport

/// A relay with one configuration, the values for the words in braces, and the connections of providers.
final class ContractFixture {
    static let topic = "com.example.app"
    static let unregisteredAt: Int64 = 1_700_000_000_000
    static let seenAt: Int64 = 1_600_000_000_000

    let loop: EventLoop
    private let relay: Relay
    private let tls: TestTLS
    private let folder: TemporaryFolder
    private let values: [String: String]
    private var shared: [PostriderNotifications.Environment: RequestClient] = [:]

    init(_ setting: ContractSetting, _ code: ProtocolCode = ProtocolCode()) async throws {
        loop = try EventLoop()
        tls = try TestTLS.shared.get()
        folder = try TemporaryFolder()
        let keys = ContractKeys()
        var configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress("127.0.0.1:0")],
            deviceAddresses: [try SocketAddress("127.0.0.1:0")],
            controlAddress: try folder.address("control.sock"),
            certificateChainFile: folder.write(tls.chain, to: "chain.pem"),
            privateKeyFile: folder.write(tls.key, to: "key.pem"),
            shards: 2,
            user: getuid()
        )
        configuration.developmentProviderAddresses = [try SocketAddress("127.0.0.1:0")]
        configuration.fidelity = setting.fidelity
        configuration.protocolCode = code
        configuration.pushesPerSecond = setting.pushesPerSecond
        configuration.deviceExpiryDays = setting.deviceExpiryDays
        configuration.returnMilliseconds = 0
        let devices = try ContractDevices()
        let channels = try ContractChannels(isFull: setting.isFullOfChannels)
        let changes = keys.changes + devices.changes + channels.changes
        let failure = setting.storeFailure
        relay = try await Relay.start(configuration, log: .none) { ContractStore(changes, failing: failure) }
        values = devices.values.merging(keys.values(at: loop.wallMilliseconds / 1000)) { $1 }
            .merging(Self.texts(at: loop.wallMilliseconds / 1000)) { $1 }
            .merging(channels.values) { $1 }
    }

    private static func texts(at now: Int64) -> [String: String] {
        [
            "64 bytes": String(repeating: "x", count: 64), "65 bytes": String(repeating: "x", count: 65),
            "256 bytes": String(repeating: "x", count: 256),
            "32 times ü": String(repeating: "ü", count: 32), "33 times ü": String(repeating: "ü", count: 33),
            "160 digits": String(repeating: "ab", count: 80),
            "202 digits": String(repeating: "ab", count: 101),
            "an hour ago": "\(now - 3600)", "in an hour": "\(now + 3600)",
            "in 31 days": "\(now + 31 * 86_400)",
        ]
    }

    /// Returns a text with the values of its words in braces.
    func filled(_ text: String) throws -> String {
        var filled = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let word = String(rest[rest.index(after: open)..<close])
            filled += rest[..<open] + (try #require(values[word], "nobody knows {\(word)}"))
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }

    /// Returns JSON text with the values of its words in braces; all other braces are JSON's own.
    func filled(json text: String) -> String {
        values.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// Opens a provider's connection.
    func connect(in environment: PostriderNotifications.Environment) throws -> RequestClient {
        let address: SocketAddress =
            switch environment {
            case .production: relay.providerAddresses[0]
            case .development: try #require(relay.developmentProviderAddresses.first)
            }
        return RequestClient(to: Server(.address(address), tls: tls.client), on: loop)
    }

    /// Returns the connection for cases whose requests do not identify their provider.
    func sharedConnection(in environment: PostriderNotifications.Environment) throws -> RequestClient {
        if let client = shared[environment], client.takesRequests { return client }
        let client = try connect(in: environment)
        shared[environment] = client
        return client
    }

    /// Makes a request and waits for its answer.
    func answer(_ request: ContractRequest, over client: RequestClient) throws -> RequestClient.Response {
        var head = client.makeHead(request.method, try filled(request.path))
        for (name, value) in request.headers { head.add(name, try filled(value)) }
        var result: Result<RequestClient.Response, ClientError>?
        try client.send(head, body: request.body.bytes) { result = $0 }
        loop.turn { result != nil }
        return try #require(result).get()
    }

    /// Ends the relay and the connections to it.
    func stop() async {
        for client in shared.values { client.close() }
        let relay = relay
        await loop.turn(until: Task { await relay.stop() })
    }
}

/// The existing devices and registrations, with their tokens.
private struct ContractDevices {
    let changes: [RegistryChange]
    let values: [String: String]

    init() throws {
        let secret = [UInt8](repeating: 5, count: DeviceTokenCodec.secretByteCount)
        let seal = try DeviceTokenCodec(secrets: [secret])
        let enrolledAt = Moment(milliseconds: ContractFixture.seenAt)
        let now = Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let (present, absent) = (DeviceIdentity(high: 1, low: 1), DeviceIdentity(high: 1, low: 2))
        let digest = [UInt8](repeating: 7, count: 32)
        var changes: [RegistryChange] = [
            .addTokenSecret(secret),
            .putDevice(
                DeviceRecord(
                    identity: present, secretDigest: digest, name: "present", enrolledAt: enrolledAt,
                    seenAt: now)),
            .putDevice(
                DeviceRecord(identity: absent, secretDigest: digest, name: "absent", enrolledAt: enrolledAt)),
        ]
        var values = ["forged token": String(repeating: "0", count: 64)]
        func register(
            _ words: String, _ topic: String, _ ordinal: UInt32, on device: DeviceIdentity = present,
            in environment: PostriderNotifications.Environment = .production, until end: Int64? = nil
        ) throws {
            let number = RegistrationNumber(ordinal, in: environment)
            let record = RegistrationRecord(
                device: device, number: number, topic: try #require(Topic(topic)), registeredAt: enrolledAt,
                unregisteredAt: end.map(Moment.init(milliseconds:)))
            changes.append(.putRegistration(record))
            values[words] = seal.seal(device, number).hex
        }
        try register("token", ContractFixture.topic, 1)
        try register("other app's token", "com.example.second", 2)
        try register("unregistered token", ContractFixture.topic, 3, until: ContractFixture.unregisteredAt)
        try register("development token", ContractFixture.topic, 1, in: .development)
        try register("absent device's token", ContractFixture.topic, 1, on: absent)
        for (place, type) in PushType.allCases.enumerated() where !type.rule.topicSuffix.isEmpty {
            let suffix = type.rule.topicSuffix
            try register("token for \(suffix)", ContractFixture.topic + suffix, UInt32(10 + place))
        }
        let removed = seal.seal(DeviceIdentity(high: 1, low: 3), RegistrationNumber(1))
        values["removed device's token"] = removed.hex
        values["TOKEN"] = values["token"]?.uppercased()
        self.changes = changes
        self.values = values
    }
}

/// A store in memory that, if it is to fail, stores neither notifications nor channels.
private final class ContractStore: Store {
    private let store = MemoryStore()
    private let failure: StoreError.Kind?

    init(_ changes: [RegistryChange], failing failure: StoreError.Kind?) {
        self.failure = failure
        store.apply(changes) { _ in }
    }

    func loadRegistry() throws(StoreError) -> Registry { try store.loadRegistry() }
    func scanQueue(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        try store.scanQueue(visit)
    }

    func loadReceipts() throws(StoreError) -> [Receipt] { try store.loadReceipts() }

    func apply(_ changes: [RegistryChange], completion: @escaping (Result<Void, StoreError>) -> Void) {
        if let failure, changes.contains(where: \.isAboutChannels) {
            return completion(.failure(StoreError(failure, "The store fails.")))
        }
        store.apply(changes, completion: completion)
    }

    func commit(_ batch: QueueBatch, completion: @escaping (Result<Void, StoreError>) -> Void) {
        guard let failure, !batch.enqueued.isEmpty else { return store.commit(batch, completion: completion) }
        completion(.failure(StoreError(failure, "The store fails.")))
    }

    func read(_ rows: [QueueRow], completion: @escaping (Result<[QueuedNotification], StoreError>) -> Void) {
        store.read(rows, completion: completion)
    }

    func close() { store.close() }
}

extension RegistryChange {
    fileprivate var isAboutChannels: Bool {
        switch self {
        case .putChannel, .removeChannel, .putBroadcast, .removeBroadcast: true
        default: false
        }
    }
}
