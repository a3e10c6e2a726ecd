/// Which addresses of a host are tried when: Happy Eyeballs, version 2 (RFC 8305), without I/O and without a clock.
///
///     start ──▶ attempt ──250 ms, or a failure──▶ one more attempt … ──one is connected──▶ it alone goes on
///
/// An attempt that is connected ends the race: the others are dropped before they cost the server a TLS handshake. If
/// its handshake fails, the race goes on with the addresses that have not failed yet.
struct ConnectionRace {
    /// What is to be done next.
    enum Step: Equatable {
        /// Try this address, by its place in ``addresses``.
        case attempt(Int)
        /// Wait for the attempts that are under way.
        case wait
        /// No address is left: no connection comes about.
        case over(CloseReason)
    }

    /// The addresses in the order in which they are tried.
    let addresses: [SocketAddress]
    private var untried: [Int]
    private var underWay: [Int] = []
    /// The one that is connected and shakes hands.
    private var connected: Int?
    private var failures: [Int: CloseReason] = [:]

    /// A race between the addresses of a host, in the order of preference (RFC 6724).
    init(_ addresses: [SocketAddress]) {
        precondition(!addresses.isEmpty, "bug: no address to try")
        self.addresses = Self.interleaved(addresses)
        untried = Array(self.addresses.indices)
    }

    /// Whether one more attempt begins if nothing happens for a while.
    var isStaggering: Bool { connected == nil && !untried.isEmpty }

    /// The next attempt, if there is one to begin now: at the start, and whenever the stagger is over.
    mutating func next() -> Step {
        guard isStaggering else { return .wait }
        let number = untried.removeFirst()
        underWay.append(number)
        return .attempt(number)
    }

    /// An attempt has reached its address. Answers the others, which are dropped.
    mutating func connected(_ number: Int) -> [Int] {
        let dropped = underWay.filter { $0 != number }
        connected = number
        underWay = []
        untried += dropped
        return dropped
    }

    /// An attempt has failed.
    mutating func failed(_ number: Int, _ reason: CloseReason) -> Step {
        failures[number] = reason
        underWay.removeAll { $0 == number }
        if connected == number { connected = nil }
        if isStaggering { return next() }
        return underWay.isEmpty && connected == nil ? .over(commonReason ?? reason) : .wait
    }

    /// The addresses without copies, the families taking turns, beginning with that of the first (RFC 8305,
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

    /// The reason of all addresses where they have the same, else the reason of each.
    private var commonReason: CloseReason? {
        let told = addresses.indices.compactMap { number in failures[number].map { (addresses[number], $0) } }
        guard let last = told.last?.1, told.contains(where: { $0.1 != last }) else { return told.last?.1 }
        let texts = told.map { address, reason in
            if case .refused(let why) = reason { "\(address): \(why)" } else { "\(address): \(reason)" }
        }
        return .refused(texts.joined(separator: "; "))
    }
}
