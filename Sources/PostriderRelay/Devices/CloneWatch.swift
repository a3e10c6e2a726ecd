import PostriderNotifications

/// Tells two machines with one identity, such as clones of an image, from one device that comes back.
///
/// A device that roams is the same process at another address. One that was restarted is another process, and the
/// former is gone. So a process that comes back after another one has replaced it proves that there are two. Devices of
/// older versions do not say which process they are, and machines that were cloned with their memory say the same: they
/// are known by their address, and because a device may go back and forth between two networks, only several returns
/// count, and nobody is turned away for them.
///
/// Pure: time is wall-clock time and comes in as an argument.
struct CloneWatch {
    /// Who is at the other end of a connection.
    struct Party: Hashable, Sendable {
        /// The number that the process drew at its start; 0 if unknown.
        let instance: UInt64
        /// Its address, without the port.
        let address: String

        /// What it is known by beside another one.
        fileprivate func name(beside other: Party) -> String {
            isTold(beside: other) ? "\(instance)" : "at \(address)"
        }

        /// Whether the two say that they are different processes.
        fileprivate func isTold(beside other: Party) -> Bool {
            instance != 0 && other.instance != 0 && instance != other.instance
        }
    }

    /// What becomes of a connection that finds another one of its device.
    enum Verdict: Equatable {
        /// It takes the place of the other.
        case replaces
        /// It is turned away: two machines use the identity, and the other keeps the link.
        case isTurnedAway
    }

    /// Two machines that use one identity.
    struct Duplicate: Equatable, Sendable {
        /// The address of the one that has the link, and of the one that came back.
        let addresses: [String]
        /// When the one came back.
        let at: Moment
    }

    /// The last two that met; nil if one machine is all there is.
    private(set) var duplicate: Duplicate?
    private var replaced: [(name: String, at: Moment)] = []
    private var returns: [Moment] = []
    private var toldAt: Moment?

    /// A connection comes while another one of its device is open.
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

    /// Whether the log is to be told of ``duplicate`` now: once an hour.
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
