public import PostriderNotifications

/// What a ``Membership`` wants done.
public enum MembershipOrder: Hashable, Sendable {
    /// Ask the store, and pass its answer to ``Membership/answered(_:at:)``. There is one request at a time, and each
    /// has an answer, a failure after a time-out included.
    case ask(MembershipRequest)
    /// Load these partitions, then serve their devices with rows above generation · 2⁴⁰.
    case load(Set<Partition>, generation: Int64)
    /// Accept nothing more for these partitions, finish what the ledger has of them, forget their devices, and tell
    /// ``Membership/gaveUp(_:at:)``. A ``drop`` cancels this.
    case giveUp(Set<Partition>)
    /// Accept and deliver nothing until ``resume``; others may take the partitions. Devices stay connected.
    case suspend
    /// Serve again: nobody has taken anything.
    case resume
    /// Forget all partitions at once: others may have them already. Say goodbye to the devices. The node begins anew.
    case drop
    /// The membership is over, as was wanted.
    case end
    /// The membership is impossible: another node that is alive has this name.
    case refuse
}

/// A question to a ``ClusterStore``.
public enum MembershipRequest: Hashable, Sendable {
    /// ``ClusterStore/look()``.
    case look
    /// ``ClusterStore/join(replacing:)``.
    case join(replacing: ClusterNode?)
    /// ``ClusterStore/beat(_:isDraining:)``.
    case beat(Int64, isDraining: Bool)
    /// ``ClusterStore/change(_:)``.
    case change(ClusterChange)
    /// ``ClusterStore/leave()``.
    case leave
}

/// The answer of a ``ClusterStore``.
public enum MembershipAnswer: Hashable, Sendable {
    /// To a look or a heartbeat.
    case view(ClusterView)
    /// To a join: whether the node is a member.
    case joined(Bool)
    /// To a change or a leave.
    case done
    /// The node is not a member any more.
    case fenced
    /// Nobody knows whether the request has had its effect.
    case failed
}

extension ClusterStore {
    /// Carries out a request of a membership. Returns its answer, and the reason if nobody knows whether it has had its
    /// effect.
    public func answer(_ request: MembershipRequest) -> (MembershipAnswer, StoreError?) {
        do throws(StoreError) {
            switch request {
            case .look: return (.view(try look()), nil)
            case .join(let dead): return (.joined(try join(replacing: dead)), nil)
            case .beat(let number, let isDraining):
                return (.view(try beat(number, isDraining: isDraining)), nil)
            case .change(let change): try self.change(change)
            case .leave: try leave()
            }
            return (.done, nil)
        } catch {
            return error.kind == .fenced ? (.fenced, nil) : (.failed, error)
        }
    }
}
