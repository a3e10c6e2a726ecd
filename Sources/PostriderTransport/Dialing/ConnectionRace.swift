/// Decides when to try which address of a host: Happy Eyeballs, version 2 (RFC 8305), without I/O and without a
/// clock.
///
///     start ──▶ attempt ──250 ms, or a failure──▶ one more attempt … ──one is connected──▶ only that one continues
///
/// The first connected attempt ends the race: the other attempts are dropped before they cost the server a TLS
/// handshake. If its handshake fails, the race continues with the addresses that have not failed yet.
struct ConnectionRace {
    /// What the caller has to do next.
    enum Step: Equatable {
        /// Try the address at this index of ``addresses``.
        case attempt(Int)
        /// Wait for the attempts that are under way.
        case wait
        /// Give up: no address is left. The payload is the reason.
        case over(CloseReason)
    }

    /// The addresses in the order in which they are tried.
    let addresses: [SocketAddress]
    private var untried: [Int]
    private var underWay: [Int] = []
    /// The index of the address that is connected and whose handshake is under way.
    private var connected: Int?
    private var failures: [Int: CloseReason] = [:]

    /// Creates a race between the addresses of a host, given in the order of preference (RFC 6724).
    init(_ addresses: [SocketAddress]) {
        precondition(!addresses.isEmpty, "bug: no address to try")
        self.addresses = Self.interleaved(addresses)
        untried = Array(self.addresses.indices)
    }

    /// Whether another attempt has to begin if nothing happens for a while.
    var isStaggering: Bool { connected == nil && !untried.isEmpty }

    /// The next attempt, if one begins now: at the start, and each time the stagger has passed.
    mutating func next() -> Step {
        guard isStaggering else { return .wait }
        let number = untried.removeFirst()
        underWay.append(number)
        return .attempt(number)
    }

    /// Records that an attempt is connected, and returns the other attempts, which the caller drops.
    mutating func connected(_ number: Int) -> [Int] {
        let dropped = underWay.filter { $0 != number }
        connected = number
        underWay = []
        untried += dropped
        return dropped
    }

    /// Records that an attempt has failed, and returns what to do next.
    mutating func failed(_ number: Int, _ reason: CloseReason) -> Step {
        failures[number] = reason
        underWay.removeAll { $0 == number }
        if connected == number { connected = nil }
        if isStaggering { return next() }
        return underWay.isEmpty && connected == nil ? .over(commonReason ?? reason) : .wait
    }

    /// The addresses without duplicates, IPv6 and IPv4 alternating, starting with the family of the first (RFC 8305,
    /// section 4, with a First Address Family Count of 1).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var seen: Set<SocketAddress> = []
        let distinct = addresses.filter { seen.insert($0).inserted }
        let first = distinct.filter { $0.family == distinct.first?.family }
        let others = distinct.filter { $0.family != distinct.first?.family }
        let pairs = (0..<max(first.count, others.count)).map { index in
            first.dropFirst(index).prefix(1) + others.dropFirst(index).prefix(1)
        }
        return pairs.flatMap { $0 }
    }

    /// The reason that all addresses have in common, or else the reason of each.
    private var commonReason: CloseReason? {
        let told = addresses.indices.compactMap { number in failures[number].map { (addresses[number], $0) } }
        guard let last = told.last?.1, told.contains(where: { $0.1 != last }) else { return told.last?.1 }
        let texts = told.map { address, reason in
            if case .refused(let why) = reason { "\(address): \(why)" } else { "\(address): \(reason)" }
        }
        return .refused(texts.joined(separator: "; "))
    }
}
