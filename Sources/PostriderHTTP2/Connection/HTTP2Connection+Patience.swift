import CPostriderNghttp2

// What the peer keeps this session waiting for. There is no clock here: the owner calls `look()` about once a second
// for as long as `isKeptWaiting`, and a second is from one look to the next.
extension HTTP2Connection {
    /// Something that a peer owes at one time or another, and may keep back for so long only.
    public enum AwaitedAction: Int, CaseIterable, Sendable {
        /// Its connection preface and its first SETTINGS frame (RFC 9113, section 3.4).
        case preface
        /// The acknowledgement of our SETTINGS (section 6.5.3).
        case settingsAcknowledgement
        /// The end of a header block that it has begun (section 4.3).
        case headerBlock
    }

    /// Whether the peer owes something that has its time. Streams that answer as they go on, like a device's link,
    /// are not waited for; nor is anything when the session is over.
    public var isKeptWaiting: Bool {
        guard failure == nil, !hasEnded else { return false }
        return owesSomething || shutdown != nil || role == .server && streamCount > streamingCount
    }

    /// A second has gone by. Streams on which the peer has kept us waiting for too long (the body of a request that
    /// does not end, an answer that its window does not let out) are reset.
    ///
    /// - Returns: what the connection itself is kept waiting for longer than `patience` has it.
    public func look(_ patience: Timeouts) -> AwaitedAction? {
        moment += 1
        resetStalledStreams(patience)
        hurryShutdown(patience)
        guard owesSomething else {
            debts = []
            return nil
        }
        if debts.isEmpty { debts = Array(repeating: nil, count: AwaitedAction.allCases.count) }
        for debt in AwaitedAction.allCases {
            let number = number(of: debt)
            if number == nil || debts[debt.rawValue]?.number != number {
                debts[debt.rawValue] = number.map { ($0, since: moment - 1) }
            }
        }
        return AwaitedAction.allCases.first { debt in
            debts[debt.rawValue].map { moment - $0.since > patience.seconds(for: debt) } ?? false
        }
    }

    private var owesSomething: Bool {
        !scanner.hasPreface || scanner.isInsideHeaderBlock || acknowledgedSettings < sentSettings
    }

    /// Tells one block, and one SETTINGS frame, from the next; nil: nothing of that kind is owed.
    private func number(of debt: AwaitedAction) -> Int? {
        switch debt {
        case .preface: scanner.hasPreface ? nil : 0
        case .settingsAcknowledgement: acknowledgedSettings < sentSettings ? acknowledgedSettings : nil
        case .headerBlock: scanner.isInsideHeaderBlock ? scanner.headerBlocks : nil
        }
    }

    private func resetStalledStreams(_ patience: Timeouts) {
        guard role == .server, streamCount > streamingCount else { return }
        for record in streams {
            let seconds = record.isAnswerStuck ? patience.answerSeconds : patience.bodySeconds
            guard record.isStalled, moment - record.since > seconds else { continue }
            record.since = moment
            if let lean { return reset(record.id, of: lean, errorCode: ErrorCode.cancel) }
            unsafe nghttp2_submit_rst_stream(
                raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), record.id, ErrorCode.cancel)
        }
    }
}

/// How long a peer may keep a session waiting, in seconds; a second more may go by until it is noticed.
public struct Timeouts: Sendable {
    /// From the beginning of the session to the end of the peer's preface.
    public var prefaceSeconds = 5
    /// For the acknowledgement of SETTINGS.
    public var settingsSeconds = 10
    /// From the beginning of a header block to its end, CONTINUATION frames included.
    public var headerBlockSeconds = 10
    /// From a request's head to the end of its body.
    public var bodySeconds = 30
    /// For a window that lets a complete answer out.
    public var answerSeconds = 20

    /// At the end of a connection, for a round trip in which the peer begins no stream.
    public var settlingSeconds = 4
    /// At the end of a connection, for the acknowledgement that the peer knows of it.
    public var goodbyeSeconds = 1

    /// The usual patience.
    public init() {}

    func seconds(for debt: HTTP2Connection.AwaitedAction) -> Int {
        switch debt {
        case .preface: prefaceSeconds
        case .settingsAcknowledgement: settingsSeconds
        case .headerBlock: headerBlockSeconds
        }
    }
}
