import PostriderNotifications

/// One node's membership in a cluster: heartbeats, its own partitions, and the partitions of nodes that are gone.
/// It has no clock and does no I/O: events come in with the monotonic time, orders go out.
///
/// **No two nodes serve a partition at the same time.** The argument has three parts.
///
/// 1. *The database decides who has a partition.* It has one owner there. Only the owner frees it, after it has given
///    it up (``MembershipOrder/giveUp(_:)``), or another node that declares the owner dead. A node serves only what a
///    view of the database showed as its own, and since then it has not given up.
/// 2. *A lease needs no common clock.* A node sends heartbeat n at its time s. The database records it later, and
///    others see it later still. A node that has seen n for a whole lease on its own monotonic clock may declare the
///    sender dead, and only if the database still has n then. The sender serves until s + ``Lease/serving`` at most,
///    unless a later heartbeat was answered, which the database would have. So it has stopped before anybody can take
///    over, however long answers take, whatever is lost, and however long either of the two is paused, as long as no
///    monotonic clock runs a fifth slower than another. Clocks of the wall, and the database's, have no part in this:
///    they are set, and a standby that becomes the primary has another one.
/// 3. *The fence does not depend on clocks at all.* If a machine's monotonic clock stands still, as after a pause of a
///    virtual machine, a node may believe for a moment that it still serves. Each of its transactions fails then,
///    because the database does not have it as a member any more. It cannot answer 200 for a notification that the
///    new owner does not know; the worst is that a device gets a notification twice, and recognises it.
///
/// A node that cannot reach the database stops serving (``MembershipOrder/suspend``), but its devices stay connected.
/// If nobody has taken its partitions when the database is back, it goes on (``MembershipOrder/resume``). After such
/// a pause it watches others for a whole lease again, so an outage of the database makes nobody dead.
public struct Membership: Sendable {
    /// What the node wants to be: at first a member that takes no partitions, because nobody may reach it.
    private enum Aim { case guest, member, drained, gone }

    private enum Phase { case outside, inside, ended }

    /// The node's name.
    public let name: NodeName
    private let lease: Lease
    private var phase = Phase.outside
    private var aim: Aim
    private var watch: HeartbeatWatch
    /// The request without an answer, and when it was asked.
    private var asked: (request: MembershipRequest, at: UInt64)?
    /// When the next request is due.
    private var nextAsk: UInt64 = 0
    private var beat: Int64 = 0
    /// Until when the node serves.
    private var servesUntil: UInt64 = 0
    private var isSuspended = true
    /// The next request, if it is not a heartbeat.
    private var planned: MembershipRequest? = .look
    /// The node that has this node's name, as it was seen last from outside.
    private var namesake: ClusterNode?
    private var namesakeChanges = 0
    private var partitions = OwnPartitions()

    /// Creates the membership of a node that is not a member yet. Call ``turn(at:)``.
    ///
    /// - Parameter waits: whether it takes no partitions before ``take(at:)``.
    public init(name: NodeName, lease: Lease = .usual, waits: Bool = false) {
        self.name = name
        self.lease = lease
        aim = waits ? .guest : .member
        watch = HeartbeatWatch(duration: lease.duration)
    }

    // MARK: - What it knows

    /// The partitions that the node serves, or loads, at this time.
    public func served(at now: UInt64) -> Set<Partition> {
        now < servingEnd ? partitions.held : []
    }

    /// Until when the node serves, in monotonic nanoseconds: ``served(at:)`` is empty from then on. 0 while it is
    /// suspended or not a member. A later heartbeat makes it a later time.
    public var servingEnd: UInt64 { phase == .inside && !isSuspended ? servesUntil : 0 }

    /// When ``turn(at:)`` is to be called next, in monotonic nanoseconds; nil if it is over.
    public var wakesAt: UInt64? {
        guard phase != .ended else { return nil }
        let request = asked == nil ? nextAsk : .max
        return isSuspended ? request : min(request, servesUntil)
    }

    // MARK: - Events

    /// The time has come that ``wakesAt`` names. It may be called more often.
    public mutating func turn(at now: UInt64) -> [MembershipOrder] {
        lapse(at: now) + ask(at: now)
    }

    /// The store has answered the last request. Time is taken when the answer is processed.
    public mutating func answered(_ answer: MembershipAnswer, at now: UInt64) -> [MembershipOrder] {
        guard let (request, sent) = asked, phase != .ended else { return [] }
        asked = nil
        var orders = lapse(at: now)
        switch (answer, request) {
        case (.fenced, _): orders += fence(at: now)
        case (.failed, _), (.joined(false), _):
            watch.lookAway()
            planned = phase == .inside ? nil : .look
            nextAsk = now + lease.interval
        case (.joined(true), _):
            phase = .inside
            planned = nil
            watch.lookAway()
            beat = 0
            nextAsk = now
        case (.view(let view), .look): orders += see(view, at: now)
        case (.view(let view), _): orders += renew(view, sent: sent, at: now)
        case (.done, .leave):
            phase = .ended
            return orders + [.end]
        // What a change has done is in the next view.
        case (.done, _): nextAsk = now
        }
        return orders + ask(at: now)
    }

    /// The node has done what ``MembershipOrder/giveUp(_:)`` orders, for these partitions.
    public mutating func gaveUp(_ given: Set<Partition>, at now: UInt64) -> [MembershipOrder] {
        partitions.gaveUp(given)
        if phase == .inside { nextAsk = now }
        return turn(at: now)
    }

    /// The node takes its part of the partitions from now on. It should be called when the others reach the node:
    /// those that a node takes which nobody reaches have no home.
    public mutating func take(at now: UInt64) -> [MembershipOrder] {
        guard aim == .guest else { return [] }
        aim = .member
        nextAsk = min(nextAsk, now)
        return turn(at: now)
    }

    /// The node gives its partitions away and takes no more, but stays a member.
    public mutating func drain(at now: UInt64) -> [MembershipOrder] {
        if aim != .gone { aim = .drained }
        nextAsk = now
        return turn(at: now)
    }

    /// The node gives its partitions away, and then leaves.
    public mutating func leave(at now: UInt64) -> [MembershipOrder] {
        aim = .gone
        nextAsk = now
        return turn(at: now)
    }

    // MARK: - The lease

    private mutating func lapse(at now: UInt64) -> [MembershipOrder] {
        guard !isSuspended, now >= servesUntil else { return [] }
        isSuspended = true
        watch.lookAway()
        return [.suspend]
    }

    /// A heartbeat is answered: the lease is longer, and the view says what the node has.
    private mutating func renew(_ view: ClusterView, sent: UInt64, at now: UInt64) -> [MembershipOrder] {
        let found = view.placement.partitions(of: name)
        // A database that was restored from a backup may have forgotten the member or its partitions.
        guard let own = view.nodes[name], own.beat == beat, partitions.held.isSubset(of: found) else {
            return fence(at: now)
        }
        servesUntil = sent + lease.serving
        guard now < servesUntil else {
            nextAsk = now
            return []
        }
        var orders: [MembershipOrder] = isSuspended ? [.resume] : []
        isSuspended = false
        watch.note(view, except: name, at: now)
        let new = partitions.note(found)
        if !new.isEmpty { orders.append(.load(new, generation: own.generation)) }
        let dead = watch.dead(at: now)
        let target = target(from: view, without: dead)
        let given = partitions.held.subtracting(target).sorted()
            .prefix(max(0, Limits.partitionsGivenUp - partitions.leaving.count))
        if !given.isEmpty {
            partitions.giveUp(Set(given))
            orders.append(.giveUp(Set(given)))
        }
        planned = change(view, dead: dead, target: target).map(MembershipRequest.change)
        if aim == .gone, partitions.isEmpty, found.isEmpty, !isAwaited(view) { planned = .leave }
        nextAsk = planned != nil ? now : min(sent + lease.interval, watch.nextEnd ?? .max)
        return orders
    }

    /// Whether other nodes are about to take what is free. Until they have, only members know where it goes, and the
    /// node can still pass pushes on.
    private func isAwaited(_ view: ClusterView) -> Bool {
        !view.placement.free.isEmpty && view.nodes.values.contains { $0.name != name && !$0.isDraining }
    }

    /// What the node should have.
    private func target(from view: ClusterView, without dead: [ClusterNode]) -> Set<Partition> {
        guard aim == .member else { return [] }
        let takers = Set(view.nodes.values.filter { !$0.isDraining }.map(\.name))
        return view.placement.balanced(over: takers.subtracting(dead.map(\.name))).partitions(of: name)
    }

    /// What the database should change for that; nil if nothing.
    private func change(_ view: ClusterView, dead: [ClusterNode], target: Set<Partition>) -> ClusterChange? {
        var change = ClusterChange()
        change.dead = dead
        change.released = partitions.givenUp
        let orphans = dead.map { view.placement.partitions(of: $0.name) }
        change.claimed = orphans.reduce(view.placement.free) { $0.union($1) }.intersection(target)
        return change.isEmpty ? nil : change
    }

    /// The node is no member any more: it has nothing, and begins anew.
    private mutating func fence(at now: UInt64) -> [MembershipOrder] {
        phase = .outside
        isSuspended = true
        planned = .look
        (namesake, namesakeChanges) = (nil, 0)
        partitions = OwnPartitions()
        watch.lookAway()
        nextAsk = now
        return [.drop]
    }

    // MARK: - Joining

    /// The node is not a member yet. If its name is taken, it waits until that node is dead. A process that was killed
    /// may have had one request under way; one that does more is alive, and there are two nodes with one name.
    private mutating func see(_ view: ClusterView, at now: UInt64) -> [MembershipOrder] {
        watch.note(view, except: nil, at: now)
        guard let other = view.nodes[name] else {
            planned = .join(replacing: nil)
            nextAsk = now
            return []
        }
        if let namesake, namesake != other { namesakeChanges += 1 }
        namesake = other
        guard namesakeChanges < 2 else {
            phase = .ended
            return [.refuse]
        }
        let isDead = watch.dead(at: now).contains(other)
        planned = isDead ? .join(replacing: other) : .look
        nextAsk = isDead ? now : now + lease.interval
        return []
    }

    // MARK: - Requests

    private mutating func ask(at now: UInt64) -> [MembershipOrder] {
        guard phase != .ended, asked == nil, now >= nextAsk else { return [] }
        let request: MembershipRequest
        if phase == .outside, aim == .gone {
            request = .leave
        } else if let planned {
            request = planned
        } else {
            beat += 1
            request = .beat(beat, isDraining: aim != .member)
        }
        planned = nil
        asked = (request, now)
        return [.ask(request)]
    }
}
