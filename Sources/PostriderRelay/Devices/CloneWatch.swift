import PostriderNotifications

/// Tells two machines with one identity, such as clones of an image, from one device that reconnects.
///
/// A device that changes networks is the same process at another address. A device that was restarted is another
/// process, and the former one never returns. So a process that returns after another one has replaced it proves that
/// there are two. Devices of older versions do not say which process they are, and machines that were cloned with their
/// memory say the same. Those are told apart by their address; since one device may alternate between two networks,
/// only several returns count, and none of them is turned away.
///
/// Pure: time is wall-clock time and comes in as an argument.
struct CloneWatch {
    /// The process at the other end of a connection.
    struct Party: Hashable, Sendable {
        /// The number that the process drew at its start; 0 if unknown.
        let instance: UInt64
        /// Its address, without the port.
        let address: String

        /// What to call it beside another one: the text shows what differs.
        fileprivate func name(beside other: Party) -> String {
            isTold(beside: other) ? "\(instance)" : "at \(address)"
        }

        /// Whether both say who they are, and are different processes.
        fileprivate func isTold(beside other: Party) -> Bool {
            instance != 0 && other.instance != 0 && instance != other.instance
        }
    }

    /// The decision about a connection that finds another one of its device.
    enum Verdict: Equatable {
        /// It replaces the other one.
        case replaces
        /// It is turned away: two machines use the identity, and the other keeps the link.
        case isTurnedAway
    }

    /// Two machines that use one identity.
    struct Duplicate: Equatable, Sendable {
        /// The addresses of the machine that has the link and of the one that returned.
        let addresses: [String]
        /// When it returned.
        let at: Moment
    }

    /// The last two that were found; nil if there is only one machine.
    private(set) var duplicate: Duplicate?
    private var replaced: [(name: String, at: Moment)] = []
    private var returns: [Moment] = []
    private var toldAt: Moment?

    /// Decides about a connection that arrives while another one of its device is open.
    mutating func judge(_ arriving: Party, beside holding: Party, at now: Moment) -> Verdict {
        let (name, other) = (arriving.name(beside: holding), holding.name(beside: arriving))
        guard name != other else { return .replaces }
        replaced.removeAll { now.milliseconds - $0.at.milliseconds > Limits.replacedMilliseconds }
        returns.removeAll { now.milliseconds - $0.milliseconds > Limits.returnsByAddress.milliseconds }
        let isReturn = replaced.contains { $0.name == name }
        let isCertain = isReturn && arriving.isTold(beside: holding)
        if isReturn { returns.append(now) }
        if isCertain || returns.count >= Limits.returnsByAddress.count {
            duplicate = Duplicate(addresses: [holding.address, arriving.address], at: now)
        }
        guard !isCertain else { return .isTurnedAway }
        replaced.removeAll { $0.name == other }
        replaced.append((other, now))
        if replaced.count > Limits.replacedConnections { replaced.removeFirst() }
        return .replaces
    }

    /// Whether ``duplicate`` shall be logged now: once an hour.
    mutating func isNews(at now: Moment) -> Bool {
        guard duplicate?.at == now else { return false }
        if let toldAt, now.milliseconds - toldAt.milliseconds < Limits.duplicateLineMilliseconds,
            now >= toldAt
        {
            return false
        }
        toldAt = now
        return true
    }
}
