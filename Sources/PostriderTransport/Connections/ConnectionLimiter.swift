internal import Synchronization

/// What one source address may use of the listeners that share a ``ConnectionLimiter``. A source is an IPv4 address,
/// or the /64 network of an IPv6 address, which is what providers assign to one customer.
public struct SourceLimits: Sendable {
    /// The most connections that a source may have open.
    public var connections: Int
    /// The most connections that a source may begin per second, on average.
    public var attemptsPerSecond: Int
    /// The most connections that a source may begin at once, before the average counts.
    public var burst: Int
    /// The most TLS handshakes of one source that may be under way.
    public var handshakesPerSource: Int
    /// The most TLS handshakes of all sources that may be under way.
    public var handshakes: Int
    /// The most sources that are remembered at once. Each takes about 100 bytes of memory.
    public var sources: Int

    /// Creates limits from their values.
    public init(
        connections: Int, attemptsPerSecond: Int, burst: Int, handshakesPerSource: Int, handshakes: Int,
        sources: Int
    ) {
        precondition(attemptsPerSecond > 0 && burst > 0 && sources > 0, "a gate lets somebody in")
        self.connections = connections
        self.attemptsPerSecond = attemptsPerSecond
        self.burst = burst
        self.handshakesPerSource = handshakesPerSource
        self.handshakes = handshakes
        self.sources = sources
    }
}

/// Why a listener closed a connection as soon as it accepted it.
public enum Refusal: Error, Equatable, CustomStringConvertible {
    /// The process has too few file descriptors left.
    case descriptors
    /// The source has as many connections open as it may have.
    case connections
    /// The source begins connections faster than it may.
    case attempts
    /// Too many handshakes are under way, in total or of this source.
    case handshakes
    /// More sources are active than the limiter can remember.
    case sources

    /// A phrase that completes "a connection was refused: ".
    public var description: String {
        switch self {
        case .descriptors: "too few file descriptors are left (nofile)"
        case .connections: "its source has too many connections"
        case .attempts: "its source connects too often"
        case .handshakes: "too many TLS handshakes are under way"
        case .sources: "too many sources connect at once"
        }
    }
}

/// Counts connections by source, for all listeners and loops of a process that share it. A connection takes its lock
/// three times: when it is accepted, when its handshake ends and when it closes.
public final class ConnectionLimiter: Sendable {
    /// An IPv4 address, or the /64 network of an IPv6 address.
    public struct Source: Hashable, Sendable, CustomStringConvertible {
        let prefix: UInt64
        let isIPv6: Bool

        /// Returns nil for a Unix socket, whose peer the kernel identifies.
        public init?(_ address: SocketAddress) {
            switch address.kind {
            case .ipv4(let word, _): (prefix, isIPv6) = (UInt64(word), false)
            case .ipv6(let first, _, _, _): (prefix, isIPv6) = (first, true)
            case .unix: return nil
            }
        }

        /// The source as text: `192.0.2.1`, or `2001:db8:1:2::/64`.
        public var description: String {
            guard isIPv6 else {
                return SocketAddress(.ipv4(UInt32(truncatingIfNeeded: prefix), port: 0)).host ?? ""
            }
            return (SocketAddress(.ipv6(prefix, 0, port: 0, scope: 0)).host ?? "") + "/64"
        }
    }

    /// The state of one source. It is forgotten when the source has no connection and `due` has passed.
    private struct Entry {
        var open = 0
        var handshakes = 0
        /// When the source would have begun its connections so far if it had kept to its average rate (GCRA), in
        /// nanoseconds.
        var due: UInt64 = 0
    }

    private struct State {
        var limits: SourceLimits
        var entries: [Source: Entry] = [:]
        var handshakes = 0
        var lastSweep: UInt64 = 0

        /// The nanoseconds between two connections of a source that keeps to its average rate.
        var interval: UInt64 { 1_000_000_000 / UInt64(limits.attemptsPerSecond) }
    }

    private let state: Mutex<State>
    private static let sweepNanoseconds: UInt64 = 1_000_000_000

    /// Creates a limiter that has admitted nothing yet.
    public init(_ limits: SourceLimits) { state = Mutex(State(limits: limits)) }

    /// Replaces the limits, for connections that begin from now on. Those that are open stay and count.
    public func change(_ limits: SourceLimits) { state.withLock { $0.limits = limits } }

    /// The number of sources that are remembered.
    public var sourceCount: Int { state.withLock { $0.entries.count } }

    /// Admits a new connection, or throws why it is refused. The connection holds the permit for as long as it is
    /// open.
    func admit(_ source: Source, now: UInt64) throws(Refusal) -> ConnectionPermit {
        let refusal = state.withLock { state -> Refusal? in
            let (limits, interval) = (state.limits, state.interval)
            if state.entries.count >= limits.sources, state.entries[source] == nil {
                sweep(&state, now)
                guard state.entries.count < limits.sources else { return .sources }
            }
            var entry = state.entries[source] ?? Entry()
            let due = max(entry.due, now)
            guard due - now <= interval * UInt64(limits.burst - 1) else { return .attempts }
            // A refused attempt counts, too.
            entry.due = due + interval
            defer { state.entries[source] = entry }
            guard entry.open < limits.connections else { return .connections }
            guard entry.handshakes < limits.handshakesPerSource, state.handshakes < limits.handshakes else {
                return .handshakes
            }
            entry.open += 1
            entry.handshakes += 1
            state.handshakes += 1
            return nil
        }
        if let refusal { throw refusal }
        return ConnectionPermit(self, source)
    }

    fileprivate func handshakeEnded(_ source: Source) {
        state.withLock { state in
            state.handshakes -= 1
            state.entries[source]?.handshakes -= 1
        }
    }

    fileprivate func left(_ source: Source) {
        state.withLock { $0.entries[source]?.open -= 1 }
    }

    /// Forgets sources that have no connection and their full burst again. It runs at most once a second, because it
    /// visits every source.
    private func sweep(_ state: inout State, _ now: UInt64) {
        guard now >= state.lastSweep + Self.sweepNanoseconds || state.lastSweep == 0 else { return }
        state.lastSweep = now
        state.entries = state.entries.filter { $0.value.open > 0 || $0.value.due > now }
    }
}

/// One connection's entry in the limiter's counts. The entry is released with the last reference, on any thread.
final class ConnectionPermit: Sendable {
    private let gate: ConnectionLimiter
    private let source: ConnectionLimiter.Source
    private let isShakingHands = Atomic(true)

    fileprivate init(_ gate: ConnectionLimiter, _ source: ConnectionLimiter.Source) {
        self.gate = gate
        self.source = source
    }

    deinit {
        handshakeEnded()
        gate.left(source)
    }

    /// Takes the connection's handshake out of the counts.
    func handshakeEnded() {
        if isShakingHands.exchange(false, ordering: .relaxed) { gate.handshakeEnded(source) }
    }
}
