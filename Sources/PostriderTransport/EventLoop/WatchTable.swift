/// What a loop watches: which object handles the events of which descriptor, and which of them are deferred to the end
/// of a turn.
struct WatchTable: ~Copyable {
    /// The object that handles a descriptor's events. Connections are called without a protocol witness, because
    /// there are many.
    enum Watched {
        case nothing
        case connection(Connection)
        case source(any EventSource)
    }

    /// Generation and number of a descriptor. Lists that are kept during a turn hold tokens and not connections,
    /// because a connection may be closed or belong to another thread before the list is worked through.
    typealias Token = UInt64

    /// The entry of one descriptor number. The generation distinguishes a late event of a closed descriptor from an
    /// event of the descriptor that got its number.
    private struct Slot {
        var generation: UInt32 = 0
        var watched: Watched = .nothing
        /// Whether the events of the descriptor are deferred.
        var isDeferred = false
        /// The deferred events of the descriptor; empty if there are none.
        var awaited: Readiness = []

        /// The events to request from epoll. A deferred connection is reported once instead of in each turn, so that
        /// thousands of them cost nothing. A listener is reported in each turn, because it accepts one connection at
        /// a time.
        func asked(_ interest: Readiness) -> Readiness {
            guard isDeferred, case .connection = watched else { return interest }
            return interest.union(.edgeTriggered)
        }

        /// Marks the number as unused.
        mutating func clear() {
            watched = .nothing
            isDeferred = false
            awaited = []
            generation &+= 1
        }
    }

    let poller: Poller
    private var slots: [Slot] = []

    /// - Parameter reports: the most events of one wait.
    init(reports: Int) throws(SystemError) { poller = try Poller(capacity: reports) }

    /// The descriptor number of a token.
    static func number(_ token: Token) -> Int { Int(truncatingIfNeeded: token & 0xFFFF_FFFF) }

    /// The number of entries: all descriptor numbers that are watched are smaller.
    var count: Int { slots.count }

    // MARK: Watching

    /// Watches `number` and returns the token that identifies its events.
    ///
    /// - Parameter isDeferred: whether its events are deferred to the end of the turn.
    mutating func add(
        _ number: Int32, _ interest: Readiness, _ watched: Watched, isDeferred: Bool
    ) throws(SystemError) -> Token {
        let index = Int(number)
        while slots.count <= index { slots.append(Slot()) }
        if case .nothing = slots[index].watched {} else { preconditionFailure("bug: watched twice") }
        slots[index].generation &+= 1
        let token = UInt64(slots[index].generation) << 32 | UInt64(index)
        slots[index].watched = watched
        slots[index].isDeferred = isDeferred
        do {
            try poller.add(number, slots[index].asked(interest), token: token)
        } catch {
            slots[index].clear()
            throw error
        }
        return token
    }

    /// Changes the events for which a descriptor is watched.
    func change(_ number: Int32, _ interest: Readiness, _ token: Token) {
        precondition(holds(token))
        do {
            try poller.modify(number, slots[Int(number)].asked(interest), token: token)
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
    }

    /// Stops watching. Events of the descriptor that are not dispatched yet are dropped.
    mutating func remove(_ number: Int32) {
        do {
            try poller.remove(number)
        } catch {
            preconditionFailure("bug: epoll_ctl, \(error.text)")
        }
        slots[Int(number)].clear()
    }

    /// Whether the token's descriptor is still watched for the same object.
    func holds(_ token: Token) -> Bool {
        slots[Self.number(token)].generation == UInt32(token >> 32)
    }

    /// The object that handles the events of a descriptor number.
    func watched(_ number: Int) -> Watched { slots[number].watched }

    /// The connection of a token; nil if it has closed or moved.
    func connection(_ token: Token) -> Connection? {
        guard holds(token), case .connection(let connection) = watched(Self.number(token)) else { return nil }
        return connection
    }

    // MARK: Deferring

    /// Whether the events of a descriptor are deferred.
    func isDeferred(_ number: Int) -> Bool { slots[number].isDeferred }

    /// Sets whether the events of a descriptor are deferred. The next change of its interest tells epoll.
    mutating func setDeferred(_ number: Int, _ isDeferred: Bool) { slots[number].isDeferred = isDeferred }

    /// Adds to the deferred events of a descriptor. Returns whether they are its first.
    mutating func hold(_ readiness: Readiness, of token: Token) -> Bool {
        let number = Self.number(token)
        defer { slots[number].awaited.formUnion(readiness) }
        return slots[number].awaited.isEmpty
    }

    /// Removes and returns the deferred events of a descriptor.
    mutating func takeHeld(of token: Token) -> Readiness {
        let number = Self.number(token)
        defer { slots[number].awaited = [] }
        return slots[number].awaited
    }
}
