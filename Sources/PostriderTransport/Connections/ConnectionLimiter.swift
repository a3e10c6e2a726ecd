internal import Synchronization

/// How much one source address may ask of the listeners that share a gate. A source is an IPv4 address, or the /64
/// network of an IPv6 address, which is what one customer has.
public struct SourceLimits: Sendable {
    /// Connections that a source may have open.
    public var connections: Int
    /// Connections that a source may begin each second, on the average.
    public var attemptsPerSecond: Int
    /// Connections that a source may begin at once, before the average counts.
    public var burst: Int
    /// TLS handshakes of one source that may be under way.
    public var handshakesPerSource: Int
    /// TLS handshakes that may be under way.
    public var handshakes: Int
    /// Sources that are remembered at once. At about 100 bytes each.
    public var sources: Int

    /// Limits from their parts.
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

/// Why a connection was closed as soon as it was accepted.
public enum Refusal: Error, Equatable, CustomStringConvertible {
    /// The process has hardly a descriptor left.
    case descriptors
    /// The source has as many connections as it may have.
    case connections
    /// The source begins connections faster than it may.
    case attempts
    /// Too many handshakes are under way, all told or of this source.
    case handshakes
    /// More sources are busy than can be told apart.
    case sources

    /// The end of "a connection was refused: ".
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

/// Counts connections by their source, for all the listeners and loops of a process that are given it. One lock is
/// taken when a connection comes, when its handshake is done and when it goes.
public final class ConnectionLimiter: Sendable {
    /// An IPv4 address, or the /64 network of an IPv6 address.
    public struct Source: Hashable, Sendable, CustomStringConvertible {
        let prefix: UInt64
        let isIPv6: Bool

        /// Nil for a Unix socket: the kernel says who is there.
        public init?(_ address: SocketAddress) {
            switch address.kind {
            case .ipv4(let word, _): (prefix, isIPv6) = (UInt64(word), false)
            case .ipv6(let first, _, _, _): (prefix, isIPv6) = (first, true)
            case .unix: return nil
            }
        }

        /// `192.0.2.1`, or `2001:db8:1:2::/64`.
        public var description: String {
            guard isIPv6 else {
                return SocketAddress(.ipv4(UInt32(truncatingIfNeeded: prefix), port: 0)).host ?? ""
            }
            return (SocketAddress(.ipv6(prefix, 0, port: 0, scope: 0)).host ?? "") + "/64"
        }
    }

    /// What is known of a source. It is forgotten when it has no connection and `due` has gone by.
    private struct Entry {
        var open = 0
        var handshakes = 0
        /// When the source, had it kept to its rate, would have begun its connections so far. Nanoseconds.
        var due: UInt64 = 0
    }

    private struct State {
        var entries: [Source: Entry] = [:]
        var handshakes = 0
        var lastSweep: UInt64 = 0
    }

    private let limits: SourceLimits
    private let state = Mutex(State())
    private let interval: UInt64
    private static let sweepNanoseconds: UInt64 = 1_000_000_000

    /// A gate that nobody has passed.
    public init(_ limits: SourceLimits) {
        self.limits = limits
        interval = 1_000_000_000 / UInt64(limits.attemptsPerSecond)
    }

    /// How many sources are remembered.
    public var sourceCount: Int { state.withLock { $0.entries.count } }

    /// A connection has come. It holds the ticket for as long as it is there.
    func admit(_ source: Source, now: UInt64) throws(Refusal) -> ConnectionPermit {
        let refusal = state.withLock { state -> Refusal? in
            if state.entries.count >= limits.sources, state.entries[source] == nil {
                sweep(&state, now)
                guard state.entries.count < limits.sources else { return .sources }
            }
            var entry = state.entries[source] ?? Entry()
            let due = max(entry.due, now)
            guard due - now <= interval * UInt64(limits.burst - 1) else { return .attempts }
            // An attempt counts even if it is refused for another reason.
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

    /// Forgets who has no connection and may begin as many as anybody; at most once a second, for it takes time.
    private func sweep(_ state: inout State, _ now: UInt64) {
        guard now >= state.lastSweep + Self.sweepNanoseconds || state.lastSweep == 0 else { return }
        state.lastSweep = now
        state.entries = state.entries.filter { $0.value.open > 0 || $0.value.due > now }
    }
}

/// One connection's place in the gate's counts. It is given back when its last holder lets go of it, wherever that is.
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

    /// The connection is established.
    func handshakeEnded() {
        if isShakingHands.exchange(false, ordering: .relaxed) { gate.handshakeEnded(source) }
    }
}
