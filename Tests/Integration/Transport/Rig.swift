import Glibc
import Testing

@testable import PostriderTransport

/// A session that records its events and can be told to act.
final class Probe: ConnectionHandler {
    var wire: (any ConnectionOutput)?
    var openings = 0
    var input: [UInt8] = []
    var inputEnds = 0
    var reasons: [CloseReason] = []
    var flushes = 0
    /// The bytes of the next flush.
    var output: [UInt8] = []
    var onOpen: (Probe) -> Void = { _ in }
    var onInput: (Probe) -> Void = { _ in }
    var onEnd: (Probe) -> Void = { $0.wire?.close(.peerClosed) }
    var onFlush: (Probe) -> Void = { _ in }

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        openings += 1
        onOpen(self)
    }

    func received(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe input.append(contentsOf: $0) }
        onInput(self)
    }

    func inputEnded() {
        inputEnds += 1
        onEnd(self)
    }

    func flush(into output: inout [UInt8]) {
        flushes += 1
        output.append(contentsOf: self.output)
        self.output = []
        onFlush(self)
    }

    func closed(_ reason: CloseReason) {
        reasons.append(reason)
        wire = nil
    }

    func send(_ bytes: [UInt8]) {
        output += bytes
        wire?.setNeedsFlush()
    }

    static func echo() -> Probe {
        let probe = Probe()
        probe.onInput = { probe in
            let input = probe.input
            probe.input = []
            probe.send(input)
        }
        return probe
    }
}

extension EventLoop {
    /// Runs turns of the loop until `condition` holds. The limit only keeps a broken test from hanging.
    func turn(until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
        var isLate = false
        let limit = makeTimer { isLate = true }
        limit.arm(afterMilliseconds: 30_000)
        while !condition() && !isLate { turn() }
        #expect(!isLate, "what the test waits for does not happen", sourceLocation: location)
    }

    /// Runs one turn that waits for at most a millisecond, for tests that alternate between two loops.
    func turnBriefly() {
        let nudge = makeTimer {}
        nudge.arm(afterMilliseconds: 1)
        turn()
    }

    /// Runs some turns, in which an unwanted event would happen.
    func turnAFewTimes() {
        for _ in 0..<20 { turnBriefly() }
    }
}

/// A path for a socket, which is removed with this object.
final class TemporaryPath {
    let path: String
    init() { path = "/tmp/transport-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).sock" }
    deinit { unsafe unlink(path) }
    var address: SocketAddress { get throws { try SocketAddress(unixPath: path) } }
}

/// The address families of the echo tests.
enum Family: CaseIterable { case ipv4, ipv6, unix }

/// A listening server and a connected client on one loop.
struct Pair {
    let loop: EventLoop
    let listener: Listener
    let server: Probe
    let client: Probe
    let path = TemporaryPath()

    init(
        _ family: Family = .ipv4, server: Probe = Probe(), client: Probe = Probe(),
        serverLimits: ConnectionLimits = .server, clientLimits: ConnectionLimits = .client,
        tls: TestTLS? = nil
    ) throws {
        loop = try EventLoop()
        let address =
            switch family {
            case .ipv4: try SocketAddress("127.0.0.1:0")
            case .ipv6: try SocketAddress("[::1]:0")
            case .unix: try path.address
            }
        listener = try loop.listen(address, tls: tls?.server, limits: serverLimits) { _ in server }
        self.server = server
        self.client = client
        loop.connect(
            to: listener.address, tls: tls.map { ($0.client, "localhost") }, limits: clientLimits,
            session: client)
        loop.turn { server.openings == 1 && client.openings == 1 }
    }
}

extension Connection {
    /// Gives the socket a small buffer, so that little output blocks it.
    func narrow() throws { try Socket.set(SOL_SOCKET, SO_SNDBUF, 131_072, on: number) }

    /// Starts reading, or leaves incoming bytes in the socket.
    func setReading(_ isReading: Bool) {
        reading.hasEnded = !isReading
        updateInterest()
    }
}

/// Returns bytes that show a wrong order.
func pattern(_ count: Int) -> [UInt8] {
    let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += block.prefix(count - bytes.count) }
    return bytes
}
