import PostriderClients
import PostriderCourier
import PostriderNotifications

/// Decides what an agent does when its relay does not accept its identity. It enrols again if it has an enrolment key,
/// and otherwise waits, with growing pauses. It never ends for that: local notifications go on, and the relay may be
/// repaired. An operator who wants to keep a device out removes the enrolment key too.
///
/// Pure: time is monotonic nanoseconds and comes in as an argument.
struct IdentityPolicy {
    /// The decision.
    enum Verdict: Equatable {
        /// Give up the identity, and enrol again after a pause.
        case enrolAnew
        /// Connect again with the same identity, after a pause.
        case wait
    }

    private let hasKey: Bool
    private let onClone: ClonePolicy
    private let stateDirectory: String
    /// When the log was last told that another machine uses the identity.
    private var toldOfCloneAt: UInt64?

    init(_ configuration: AgentConfiguration) {
        hasKey = configuration.enrolmentKey != nil
        onClone = configuration.onClone
        stateDirectory = configuration.stateDirectory
    }

    /// The relay does not know the identity. `wasConnected`: it knew it a moment ago, so its operator has removed the
    /// device.
    func unknown(_ end: LinkEnd, wasConnected: Bool, log: Log) -> Verdict {
        let cause = wasConnected ? "\(end)" : "\(end), as after the relay was restored from an older backup"
        guard hasKey else {
            log.error(
                "\(cause); give the agent an enrolment key, by enrolment-key-file or in "
                    + "POSTRIDER_ENROLMENT_KEY, and start it again; until then local notifications go on, "
                    + "and it tries again at growing intervals")
            return .wait
        }
        log.warning(
            "\(cause): enrolling again; apps keep their inbox and schedule, and are given new device tokens")
        return .enrolAnew
    }

    /// Another connection with the same identity has replaced this one, or is preferred to it.
    mutating func replaced(_ end: LinkEnd, now: UInt64, log: Log) -> Verdict {
        guard end.isDuplicate else { return .wait }
        if hasKey, onClone == .enrolAnew {
            log.warning(
                "\(end): enrolling again, because on-clone is enrol-anew; apps are given new device tokens")
            return .enrolAnew
        }
        let hour = UInt64(Limits.duplicateLineMilliseconds) * 1_000_000
        if toldOfCloneAt.map({ now - $0 >= hour }) ?? true {
            toldOfCloneAt = now
            log.error(
                "two machines use the identity in \(stateDirectory): stop the agent of one, or set on-clone: "
                    + "enrol-anew and give it an enrolment key; until then this one gets no notifications "
                    + "from the relay and tries again at growing intervals")
        }
        return .wait
    }
}

extension EnrolmentError {
    /// Whether asking again is of no use until somebody corrects the key, here or at the relay.
    var isVerdict: Bool {
        switch self {
        case .refused(let status, _):
            [.unauthenticated, .permissionDenied, .invalidArgument, .unimplemented].contains(status)
        case .unanswered, .malformed: false
        }
    }
}
