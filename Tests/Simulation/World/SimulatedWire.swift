import PostriderEndpoints
import PostriderTransport

/// One end of a simulated connection. Flushed bytes are under way until the world delivers them to the other end, in
/// pieces. The world can cut the connection at any time, or let it die without notice.
final class SimulatedWire: ConnectionOutput {
    private enum Phase {
        case open
        case closing(CloseReason)
        /// This end sends nothing more; bytes under way may still arrive.
        case ended
    }

    let number: Int
    let peer = Peer(address: "simulated")
    /// The shard whose loop owns the end; nil at a client, or while the connection moves.
    var shard: Int?
    var isMoving = false
    private(set) var other: SimulatedWire?
    private(set) var session: (any ConnectionHandler)?
    /// The bytes that were flushed and have not arrived.
    private(set) var underway: [UInt8] = []
    private(set) var isDirty = false
    /// The time since which nothing arrives in either direction, without notice; set on both ends.
    private(set) var deadSince: Int64?
    /// The number of bytes that will arrive at this end one by one.
    private var trickle: Int
    private let reorders: Bool
    /// The bytes that a deliberate fault holds back.
    private var held: [UInt8] = []
    private var phase = Phase.open
    private var departure: CloseReason?
    private var hasToldEnd = false
    /// This end sends nothing more but still receives (a half-closed socket).
    private var isHalfClosed = false

    /// More bytes than this under way block the end, like a socket's full buffer.
    private static let bufferBytes = 20_000

    private init(
        number: Int, shard: Int?, session: any ConnectionHandler, trickle: Int, reorders: Bool
    ) {
        self.number = number
        self.shard = shard
        self.session = session
        self.trickle = trickle
        self.reorders = reorders
    }

    /// Makes two ends; neither has been told yet that it is open.
    static func pair(
        _ number: Int, shard: Int, server: any ConnectionHandler, client: any ConnectionHandler, trickle: Int,
        reorders: Bool
    ) -> (server: SimulatedWire, client: SimulatedWire) {
        let ends = (
            SimulatedWire(
                number: number, shard: shard, session: server, trickle: trickle, reorders: reorders),
            SimulatedWire(number: number, shard: nil, session: client, trickle: trickle, reorders: false)
        )
        ends.0.other = ends.1
        ends.1.other = ends.0
        return ends
    }

    var isBlocked: Bool { underway.count > Self.bufferBytes }
    var hasEnded: Bool { if case .ended = phase { true } else { false } }
    private var isOpen: Bool { if case .open = phase { true } else { false } }

    func setNeedsFlush() { if !hasEnded && !isMoving { isDirty = true } }

    func close(_ reason: CloseReason) {
        guard isOpen else { return }
        phase = .closing(reason)
        setNeedsFlush()
    }

    func abort(_ reason: CloseReason) {
        guard !hasEnded, departure == nil else { return }
        departure = reason
    }

    /// Takes the end off its loop; nil if it is no longer open.
    func detach() -> Int? {
        guard isOpen, departure == nil, !isMoving else { return nil }
        isMoving = true
        isDirty = false
        shard = nil
        return number
    }

    /// Adds the end to a loop.
    func adopt(by shard: Int) {
        precondition(isMoving, "a crate is adopted once")
        isMoving = false
        self.shard = shard
        setNeedsFlush()
    }

    // MARK: What the world does

    func opened() { session?.opened(on: self) }

    /// Whether the other end has bytes or its end for this one.
    var hasInput: Bool {
        guard let other, deadSince == nil, isOpen, !isMoving, departure == nil else { return false }
        return !other.underway.isEmpty || (other.hasEnded || other.isHalfClosed) && !hasToldEnd
    }

    /// Receives the next bytes of the other end, or its end.
    func receive(upTo count: Int) {
        guard let other, isOpen, !isMoving else { return }
        if other.underway.isEmpty {
            hasToldEnd = true
            session?.inputEnded()
            return
        }
        let wasBlocked = other.isBlocked
        let bytes = Array(other.underway.prefix(trickle > 0 ? 1 : count))
        trickle = max(trickle - 1, 0)
        other.underway.removeFirst(bytes.count)
        session?.received(bytes.span)
        if wasBlocked && !other.isBlocked { other.setNeedsFlush() }
    }

    /// Ends a turn of the loop that owns this end: flushes, and closes if needed.
    func endTurn() {
        if let reason = departure, !hasEnded, !isMoving {
            underway = []
            end(reason)
            return
        }
        guard isDirty, !isMoving, !isBlocked, !hasEnded else { return }
        isDirty = false
        let start = underway.count
        session?.flush(into: &underway)
        if isHalfClosed { underway.removeSubrange(start...) }
        if reorders, underway.count > start { holdBack(from: start) }
        if case .closing(let reason) = phase, !isDirty || !isBlocked { end(reason) }
    }

    /// Cuts the connection at this end; bytes under way to it are lost.
    func cut() {
        abort(.peerReset)
        other?.underway = []
    }

    /// Ends the sending side of this end; it still receives.
    func closeHalf() { isHalfClosed = true }

    /// From now on nothing arrives, and neither end is told.
    func goDead(at moment: Int64) {
        guard deadSince == nil else { return }
        deadSince = moment
        other?.deadSince = moment
    }

    private func end(_ reason: CloseReason) {
        phase = .ended
        isDirty = false
        let leaving = session
        session = nil
        leaving?.closed(reason)
        guard let other, other.hasEnded else { return }
        other.other = nil
        self.other = nil
    }

    /// Holds back a run of DATA frames (RFC 9113 section 6.1), so that it comes after the next run.
    private func holdBack(from start: Int) {
        var place = start
        var isData = true
        while place + 9 <= underway.count {
            isData = isData && underway[place + 3] == 0
            place += 9 + underway[place..<place + 3].reduce(0) { $0 << 8 | Int($1) }
        }
        if held.isEmpty, isData {
            held = Array(underway[start...])
            underway.removeSubrange(start...)
        } else {
            underway.insert(contentsOf: held, at: isData ? underway.count : start)
            held = []
        }
    }
}
