/// Something that the peer has to do within a bounded time.
public enum AwaitedAction: Int, CaseIterable, Sendable {
    /// Its connection preface and its first SETTINGS frame (RFC 9113, section 3.4).
    case preface
    /// The acknowledgement of our SETTINGS (section 6.5.3).
    case settingsAcknowledgement
    /// The end of a header block that it has begun (section 4.3).
    case headerBlock
}

/// How many seconds a peer has for each ``AwaitedAction`` and for its streams. A timeout may be noticed one second
/// late.
public struct Timeouts: Sendable {
    /// From the beginning of the connection to the end of the peer's preface.
    public var prefaceSeconds = 5
    /// For the acknowledgement of SETTINGS.
    public var settingsSeconds = 10
    /// From the beginning of a header block to its end, CONTINUATION frames included.
    public var headerBlockSeconds = 10
    /// From a request's header block to the end of its body.
    public var bodySeconds = 30
    /// From a complete answer until the peer's window has let all of it out.
    public var answerSeconds = 20

    /// At a shutdown: for a round trip in which the peer begins no stream.
    public var settlingSeconds = 4
    /// At a shutdown: for the acknowledgement of the PING beside the first GOAWAY, and the end of the open streams.
    public var goodbyeSeconds = 1

    /// The default timeouts.
    public init() {}

    func seconds(for action: AwaitedAction) -> Int {
        switch action {
        case .preface: prefaceSeconds
        case .settingsAcknowledgement: settingsSeconds
        case .headerBlock: headerBlockSeconds
        }
    }
}

/// The deadlines of a connection's peer. There is no clock here: time is the number of `tick` calls, which the owner
/// makes about once a second while a deadline runs.
struct PeerDeadlines {
    /// How many ticks there were.
    private(set) var moment = 0
    private var sentSettings = 0
    private var acknowledgedSettings = 0
    /// By ``AwaitedAction``: the number that identifies what is awaited, and the moment since which it is. Empty if
    /// nothing is awaited.
    private var owed: [(number: Int, since: Int)?] = []

    mutating func settingsSent() { sentSettings += 1 }
    mutating func settingsAcknowledged() { acknowledgedSettings += 1 }

    /// Whether the peer has acknowledged all of our SETTINGS.
    var areSettingsAcknowledged: Bool { acknowledgedSettings == sentSettings }

    /// Whether a deadline runs, by what the peer has sent so far.
    func isOwed(_ received: FloodAccounting) -> Bool {
        !received.hasPreface || received.isInsideHeaderBlock || !areSettingsAcknowledged
    }

    /// Frees memory when nothing is awaited.
    mutating func releaseMemory() { owed = [] }

    /// Counts another second.
    ///
    /// - Returns: the action whose deadline has passed, if any.
    mutating func tick(_ received: FloodAccounting, _ timeouts: Timeouts) -> AwaitedAction? {
        moment += 1
        guard isOwed(received) else {
            owed = []
            return nil
        }
        if owed.isEmpty { owed = Array(repeating: nil, count: AwaitedAction.allCases.count) }
        for action in AwaitedAction.allCases {
            let number = number(of: action, received)
            if number == nil || owed[action.rawValue]?.number != number {
                owed[action.rawValue] = number.map { ($0, since: moment - 1) }
            }
        }
        return AwaitedAction.allCases.first { action in
            owed[action.rawValue].map { moment - $0.since > timeouts.seconds(for: action) } ?? false
        }
    }

    /// A number that tells one header block, or one SETTINGS frame, from the next, so that a deadline belongs to one of
    /// them; nil if nothing of the kind is awaited.
    private func number(of action: AwaitedAction, _ received: FloodAccounting) -> Int? {
        switch action {
        case .preface: received.hasPreface ? nil : 0
        case .settingsAcknowledgement: areSettingsAcknowledged ? nil : acknowledgedSettings
        case .headerBlock: received.isInsideHeaderBlock ? received.headerBlocks : nil
        }
    }
}
