/// Something that a peer owes at one time or another, and may keep back for so long only.
public enum AwaitedAction: Int, CaseIterable, Sendable {
    /// Its connection preface and its first SETTINGS frame (RFC 9113, section 3.4).
    case preface
    /// The acknowledgement of our SETTINGS (section 6.5.3).
    case settingsAcknowledgement
    /// The end of a header block that it has begun (section 4.3).
    case headerBlock
}

/// How long a peer may keep a connection waiting, in seconds; a second more may go by until it is noticed.
public struct Timeouts: Sendable {
    /// From the beginning of the connection to the end of the peer's preface.
    public var prefaceSeconds = 5
    /// For the acknowledgement of SETTINGS.
    public var settingsSeconds = 10
    /// From the beginning of a header block to its end, CONTINUATION frames included.
    public var headerBlockSeconds = 10
    /// From a request's header block to the end of its body.
    public var bodySeconds = 30
    /// For a window that lets a complete answer out.
    public var answerSeconds = 20

    /// At the end of a connection, for a round trip in which the peer begins no stream.
    public var settlingSeconds = 4
    /// At the end of a connection, for the acknowledgement that the peer knows of it.
    public var goodbyeSeconds = 1

    /// The usual timeouts.
    public init() {}

    func seconds(for action: AwaitedAction) -> Int {
        switch action {
        case .preface: prefaceSeconds
        case .settingsAcknowledgement: settingsSeconds
        case .headerBlock: headerBlockSeconds
        }
    }
}

/// The time of a connection, and since when the peer owes what. There is no clock here: the owner calls `tick` about
/// once a second for as long as something is awaited, and a second is from one tick to the next.
struct PeerDeadlines {
    /// How many ticks there were: about as many seconds as the peer has kept us waiting.
    private(set) var moment = 0
    private var sentSettings = 0
    private var acknowledgedSettings = 0
    /// By ``AwaitedAction``: which one of its kind is owed, and since which moment. Empty if nothing is owed.
    private var owed: [(number: Int, since: Int)?] = []

    mutating func settingsSent() { sentSettings += 1 }
    mutating func settingsAcknowledged() { acknowledgedSettings += 1 }

    /// Whether the peer has acknowledged all of our SETTINGS.
    var areSettingsAcknowledged: Bool { acknowledgedSettings == sentSettings }

    /// Whether the peer owes something, by what it has sent so far.
    func isOwed(_ received: FloodAccounting) -> Bool {
        !received.hasPreface || received.isInsideHeaderBlock || !areSettingsAcknowledged
    }

    /// Gives back memory when nothing is owed.
    mutating func releaseMemory() { owed = [] }

    /// Another second has gone by.
    ///
    /// - Returns: what the connection is kept waiting for longer than `timeouts` allow.
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

    /// Tells one header block, and one SETTINGS frame, from the next; nil if nothing of that kind is owed.
    private func number(of action: AwaitedAction, _ received: FloodAccounting) -> Int? {
        switch action {
        case .preface: received.hasPreface ? nil : 0
        case .settingsAcknowledgement: areSettingsAcknowledged ? nil : acknowledgedSettings
        case .headerBlock: received.isInsideHeaderBlock ? received.headerBlocks : nil
        }
    }
}
