import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// One shard with a web port, and connections to it. The test controls the ledger and the time.
final class WebFixture {
    /// The enrolment key in the URL of browsers.
    static let key = "browsers-9"
    /// A token of plain sends to the topic of the samples.
    static let sendToken = "send-0123"
    static let origin = "https://push.example.org"
    /// A VAPID key: the generator of P-256.
    static let senderKey =
        "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"

    let clock = HandClock()
    let ledger = HandLedger()
    private let complaints = LoggedLines()
    private(set) lazy var shard = makeShard()
    private let codec: DeviceTokenCodec
    private let policy: AccessPolicy
    private let quotas: QuotaSet
    private var lines: [WebClientConnection] = []
    /// The refusals that the trace has got.
    private(set) var refusals: [TraceRefusal] = []

    /// The enrolment key of browsers, as the registry has it.
    static let keyRecord = EnrolmentKeyRecord(
        name: "browsers", digest: EnrolmentKey.digest(key), addedAt: Samples.now)

    /// The access policy of a relay with this key and this token.
    static var authority: AccessPolicy {
        let token = SendTokenRecord(
            name: "cron", digest: SendToken.digest(Array(sendToken.utf8)), topics: [Samples.topic],
            addedAt: Samples.now)
        return AccessPolicy(
            generation: 1, providerKeys: [], topics: [], enrolmentKeys: [keyRecord], sendTokens: [token],
            log: .none)
    }

    /// - Parameter store: what an earlier relay has left.
    init(_ store: (any Store)? = nil, quotas: QuotaSet = QuotaSet([])) throws {
        self.quotas = quotas
        codec = try DeviceTokenCodec(secrets: [Provider.secret])
        policy = Self.authority
        shard.start()
        guard let store else { return }
        let loaded = try LoadedStore(store, shards: 1)
        shard.restore(loaded)
        shard.directory.restore(loaded.registry)
        var all: Result<[QueuedNotification], StoreError> = .success([])
        var rows: [QueueRow] = []
        _ = try store.scanQueue { rows.append($0.row) }
        store.read(rows) { all = $0 }
        ledger.restore(try all.get())
        run()
    }

    private func makeShard() -> Shard {
        let context = ShardContext(
            index: 0, scheduler: clock,
            outbox: Outbox(
                ownIndex: 0, shards: [{ $0.isEmpty }], ledger: { [ledger] in ledger.take(&$0) }),
            rows: RowSequence(after: QueueRow(0)), codec: codec, policies: PolicyInForce(policy),
            random: Numbers(),
            trace: TraceRecorder(ofShard: 0, sample: 1, losses: TraceLosses()) { [unowned self] request in
                if case .refusals(let some) = request { refusals += some }
                return true
            }, log: complaints.log)
        var settings = ShardSettings()
        settings.webOrigin = Self.origin
        settings.quotas = quotas
        return Shard(
            context, settings, migrator: ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil }))
    }

    /// All log lines.
    var logged: [String] { complaints.all.map(\.text) }

    /// Opens a connection.
    func open(speaking negotiated: String? = "http/1.1") -> WebClientConnection {
        let line = WebClientConnection(WebConnection(on: shard.web), negotiated)
        lines.append(line)
        return line
    }

    /// Connects a browser and says hello. The ledger does what that needs.
    func connect(_ uaid: String = "", key: String = WebFixture.key) throws -> Browser {
        let browser = Browser(open(), path: "/" + key)
        browser.say(#"{"messageType":"hello","uaid":"\#(uaid)","use_webpush":true}"#)
        run()
        commit()
        return browser
    }

    /// Posts a message and returns the connection on which its answer comes.
    func post(
        _ body: String = "secret", to endpoint: String, _ fields: [String: String] = [:]
    ) throws -> WebClientConnection {
        try request("POST", endpoint, WebClientConnection.usual.merging(fields) { $1 }, body)
    }

    /// Makes a request, without the fields that are empty, and returns the connection on which its answer comes.
    func request(
        _ method: String, _ url: String, _ fields: [String: String] = [:], _ body: String = ""
    ) throws -> WebClientConnection {
        let line = open()
        try line.request(method, url, fields, Array(body.utf8))
        run()
        return line
    }

    /// Registers a channel for a browser and returns its URL.
    func register(_ browser: Browser, channel: String, key: String? = nil) throws -> String {
        let more = key.map { #","key":"\#($0)""# } ?? ""
        browser.say(#"{"messageType":"register","channelID":"\#(channel)"\#(more)}"#)
        run()
        commit()
        let answer = try #require(browser.messages("register").last)
        return try #require(answer["pushEndpoint"] as? String, "\(answer)")
    }

    /// Lets the ledger do all that it was asked to do.
    func commit(isDurable: Bool = true) {
        var messages = ledger.work(isDurable: isDurable)
        shard.receive(&messages)
        run()
    }

    func advance(bySeconds seconds: Int) {
        for _ in 0..<seconds {
            clock.advance(byMilliseconds: 1000)
            for line in lines { line.look() }
        }
        run()
    }

    /// Ends the turn until nothing more is sent.
    func run() {
        repeat { shard.turnEnded() } while lines.map({ $0.flush() }).contains(true)
    }
}

/// One connection to the web port.
final class WebClientConnection {
    private final class Wire: ConnectionOutput {
        let peer: Peer
        var isDirty = false
        var closed: CloseReason?
        var isReading = true
        let isBlocked = false

        init(_ peer: Peer) { self.peer = peer }

        func setNeedsFlush() { isDirty = true }

        func close(_ reason: CloseReason) {
            closed = closed ?? reason
            isDirty = true
        }

        func abort(_ reason: CloseReason) { closed = closed ?? reason }
        func pauseReading() { isReading = false }
        func resumeReading() { isReading = true }
    }

    private let door: WebConnection
    private let wire: Wire
    private var isOver = false
    /// What the relay has sent.
    var heard: [UInt8] = []

    init(_ door: WebConnection, _ negotiated: String?) {
        self.door = door
        wire = Wire(Peer(address: "192.0.2.1:1", negotiatedProtocol: negotiated))
        door.opened(on: wire)
    }

    var text: String { String(decoding: heard, as: UTF8.self) }
    /// The status of the first answer.
    var status: Int? { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
    var closed: CloseReason? { wire.closed }
    var isReading: Bool { wire.isReading }

    /// The value of a field of the first answer.
    func field(_ name: String) -> String? {
        text.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }.map {
            String($0.dropFirst(name.count + 2))
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        if closed == nil { door.received(bytes.span) }
    }

    /// The fields of a usual message.
    static let usual = ["TTL": "60", "Content-Encoding": "aes128gcm"]

    /// Makes a request of a URL of this origin, without the fields that are empty.
    func request(_ method: String, _ url: String, _ fields: [String: String], _ body: [UInt8]) throws {
        let path = try #require(
            url.hasPrefix(WebFixture.origin) ? url.dropFirst(WebFixture.origin.count) : nil)
        let head = fields.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }.joined()
        send(
            "\(method) \(path) HTTP/1.1\r\nHost: push.example.org\r\n\(head)"
                + "Content-Length: \(body.count)\r\n\r\n")
        send(body)
    }

    func look() {
        if closed == nil, door.isKeptWaiting { door.look() }
    }

    /// The client cuts the connection.
    func cut() { wire.abort(.peerReset) }

    func flush() -> Bool {
        guard !isOver else { return false }
        let before = heard.count
        if wire.isDirty {
            wire.isDirty = false
            door.flush(into: &heard)
        }
        if let reason = wire.closed {
            isOver = true
            door.closed(reason)
        }
        return heard.count > before || isOver
    }
}
