import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

@testable import PostriderAgent

/// An agent's app socket without a real socket: bytes are transferred turn by turn, and the work of a call takes as
/// long as the test says.
final class SocketFixture {
    let fixture: RouterFixture
    let server: AppServer
    private let cost: Cost
    private(set) var apps: [SocketApp] = []

    /// The time within a turn: each reading of the clock follows a call that took this long.
    private final class Cost {
        let clock: StandingClock
        var callNanoseconds: UInt64 = 0
        var spent: UInt64 = 0
        init(_ clock: StandingClock) { self.clock = clock }
        func read() -> UInt64 {
            spent += callNanoseconds
            return clock.now + spent
        }
    }

    /// - Parameter callsPerTurn: the number of calls after which a turn's time for calls is used up.
    init(callsPerTurn: UInt64) throws {
        fixture = try RouterFixture()
        let cost = Cost(fixture.clock)
        cost.callNanoseconds = Limits.callNanosecondsPerTurn / callsPerTurn
        self.cost = cost
        server = AppServer(
            router: fixture.router, system: fixture.system, control: fixture.control(),
            scheduler: fixture.clock,
            readClock: { cost.read() }, log: .none)
    }

    /// Connects a process of this user; nil if the socket refuses it.
    func connect(user: UInt32 = 1000) -> SocketApp? {
        guard let session = server.admit(user) else { return nil }
        let app = SocketApp(session)
        apps.append(app)
        return app
    }

    /// Runs one turn of the agent's loop.
    func turn() throws {
        fixture.clock.pass(milliseconds: 1)
        fixture.clock.fireTimers()
        for app in apps { app.speak() }
        fixture.router.endTurn()
        for app in apps { try app.listen() }
    }

    /// Runs this many turns.
    func turn(times: Int) throws { for _ in 0..<times { try turn() } }
}

/// A process at the other end of a connection to the app socket.
final class SocketApp: SessionHandler, ConnectionOutput {
    let peer = Peer(address: "test")
    let isBlocked = false
    private let endpoint: HTTP2Handler
    private(set) lazy var client = HTTP2Connection(role: .client, handler: self)
    private var framings: [Int32: MessageFraming] = [:]
    /// The numbers of the calls that were answered, in order, by stream.
    private(set) var answers: [Int32: [UInt64]] = [:]
    /// The numbers of the deliveries.
    private(set) var delivered: [UInt64] = []
    /// The statuses with which the streams ended.
    private(set) var statuses: [Int32: String] = [:]
    /// The reason for which the connection was closed.
    private(set) var end: CloseReason?
    private var isTold = false

    init(_ session: AppSession) {
        endpoint = session.endpoint
        endpoint.opened(on: self)
    }

    /// Opens a stream.
    func attach(_ method: CourierMethod = .attach) throws -> Int32 {
        try client.openRequest([
            ":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": "\(method.rawValue)",
            "content-type": "application/grpc", "te": "trailers",
        ])
    }

    func say(_ message: some CourierMessage, on stream: Int32) {
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        client.send(stream, frame.span)
    }

    /// Makes this many calls, numbered from 1.
    func call(_ count: Int, on stream: Int32, topic: String = RecordedApp.topic) {
        guard count > 0 else { return }
        for number in 1...UInt64(count) {
            say(AppMessage.center(CenterCall(call: number, topic: topic, order: .settings)), on: stream)
        }
    }

    /// Ends the process.
    func crash() {
        end = end ?? .peerReset
        tellEnd()
    }

    // MARK: A turn

    /// Transfers the app's bytes to the socket.
    func speak() {
        guard end == nil else { return }
        var bytes: [UInt8] = []
        client.drain(into: &bytes)
        if !bytes.isEmpty { endpoint.received(bytes.span) }
    }

    /// Transfers the socket's bytes to the app.
    func listen() throws {
        var bytes: [UInt8] = []
        if !isTold { endpoint.flush(into: &bytes) }
        if !bytes.isEmpty { try client.receive(bytes.span) }
        if end != nil { tellEnd() }
    }

    private func tellEnd() {
        guard let end, !isTold else { return }
        isTold = true
        endpoint.closed(end)
    }

    func setNeedsFlush() {}
    func close(_ reason: CloseReason) { end = end ?? reason }
    func abort(_ reason: CloseReason) { end = end ?? reason }

    // MARK: What it is told

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        if let status = block.text(of: "grpc-status") { statuses[stream] = status }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        var framing = framings[stream] ?? MessageFraming(maxMessageBytes: 1 << 20)
        framing.feed(bytes)
        while let bytes = try? framing.next() {
            guard let message = try? AgentMessage(decoding: bytes.span) else { continue }
            switch message {
            case .answer(let answer): answers[stream, default: []].append(answer.call)
            case .deliver(let deliver): delivered.append(deliver.identity.low)
            default: break
            }
        }
        framings[stream] = framing
    }

    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
}
