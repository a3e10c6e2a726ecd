public import PostriderNotifications

/// Selects captures. A property that is nil does not restrict the selection.
public struct CaptureFilter: Sendable, Equatable {
    /// The topic.
    public var topic: String?
    /// The beginning of the device token, in lower case.
    public var token: String?
    /// The status of the response.
    public var status: Int?
    /// The outcome.
    public var outcome: Capture.Outcome?
    /// The `apns-id`, in lower case.
    public var identity: String?
    /// The earliest time of the request.
    public var since: Moment?
    /// Only captures with higher numbers.
    public var after: Int?

    /// Creates a filter that selects all captures.
    public init() {}

    /// Whether the filter selects a capture.
    public func matches(_ capture: Capture) -> Bool {
        if let after, capture.number <= after { return false }
        if let since, capture.at < since { return false }
        if let status, capture.answer?.status != status { return false }
        if let outcome, capture.outcome != outcome { return false }
        if let identity, capture.identity.lowercased() != identity { return false }
        if let token, capture.token?.hasPrefix(token) != true { return false }
        if let topic, capture.header("apns-topic") != topic { return false }
        return true
    }
}

/// A query for captures: that of `GET /v1/captures`.
public struct CaptureQuery: Sendable, Equatable {
    /// What is wrong with a query.
    public struct Mistake: Error, Equatable {
        /// One sentence: what is wrong, and what to do.
        public let sentence: String
    }

    /// Which captures to return.
    public var filter = CaptureFilter()
    /// The most captures to return.
    public var last = Limits.capturesInAnswer
    /// How long to wait for ``count`` captures, in milliseconds; nil for not at all.
    public var waitMilliseconds: Int?
    /// The number of captures to wait for.
    public var count = 1
    /// Whether the answer has a line for each capture, and nothing else.
    public var isLines = false

    /// Reads a query such as `topic=com.example.app&wait=5s&count=2`.
    public init(_ query: some StringProtocol) throws(Mistake) {
        var given: [String] = []
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            guard pair.count == 2, let value = Self.decoded(pair[1]), !value.isEmpty else {
                throw Mistake(sentence: "'\(name)' needs a value, as in '\(name)=...'.")
            }
            guard !given.contains(name) else {
                throw Mistake(sentence: "'\(name)' is given twice; keep one.")
            }
            given.append(name)
            try set(name, value)
        }
        if given.contains("count"), waitMilliseconds == nil {
            throw Mistake(sentence: "'count' says how many to wait for; write 'wait=5s' beside it.")
        }
        guard count <= last else {
            throw Mistake(
                sentence: "'count' is \(count), and the answer holds \(last) at most; ask for fewer.")
        }
    }

    /// The numbers after which captures can be asked for.
    private static let numbers = 0...Int(Int32.max)

    /// Reads a query for captures as they happen, which neither waits nor ends: `topic=com.example.app&after=12`.
    ///
    /// - Parameter last: the number of the last event that the client got, which wins over `after`; nil for none.
    public init(events query: some StringProtocol, last: String? = nil) throws(Mistake) {
        try self.init(query)
        if let last { filter.after = try Self.number("Last-Event-ID", last, in: Self.numbers) }
        for part in query.split(separator: "&") {
            let name = String(part.prefix { $0 != "=" })
            guard ["wait", "count", "last", "format"].contains(name) else { continue }
            throw Mistake(sentence: "'\(name)' is not for events, which come as they happen: leave it out.")
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(Mistake) {
        switch name {
        case "topic": filter.topic = value
        case "id": filter.identity = value.lowercased()
        case "token":
            guard value.utf8.allSatisfy({ Hexadecimal.value($0) != nil }) else {
                throw Mistake(sentence: "'token' is a device token or its first digits, not '\(value)'.")
            }
            filter.token = value.lowercased()
        case "status": filter.status = try Self.number(name, value, in: 100...599)
        case "outcome":
            filter.outcome = Capture.Outcome(rawValue: value)
            guard filter.outcome != nil else {
                let known = Capture.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
                throw Mistake(sentence: "'outcome' is one of \(known), not '\(value)'.")
            }
        case "since":
            filter.since = Moment(milliseconds: Int64(try Self.number(name, value, in: 0...Int.max)))
        case "after": filter.after = try Self.number(name, value, in: Self.numbers)
        case "last": last = try Self.number(name, value, in: 1...Limits.capturesInAnswer)
        case "count": count = try Self.number(name, value, in: 1...Limits.capturesInAnswer)
        case "format":
            guard value == "lines" else {
                throw Mistake(sentence: "'format' is lines, or left out, not '\(value)'.")
            }
            isLines = true
        case "wait": waitMilliseconds = try Self.wait(value)
        default:
            throw Mistake(
                sentence:
                    "Captures are asked for with topic, token, status, outcome, id, since, after, last, "
                    + "wait, count and format, not with '\(name)'.")
        }
    }

    private static func number(
        _ name: String, _ text: String, in range: ClosedRange<Int>
    ) throws(Mistake) -> Int {
        if let number = Int(text), range.contains(number) { return number }
        let bounds =
            range.upperBound == Int.max
            ? "from \(range.lowerBound) on" : "from \(range.lowerBound) to \(range.upperBound)"
        throw Mistake(sentence: "'\(name)' is a whole number \(bounds), not '\(text)'.")
    }

    /// Reads a duration such as `5s` or `250ms`, in milliseconds.
    private static func wait(_ text: String) throws(Mistake) -> Int {
        let worth = text.hasSuffix("ms") ? 1 : 1000
        let digits = text.hasSuffix("ms") ? text.dropLast(2) : text.hasSuffix("s") ? text.dropLast() : ""
        guard let number = Int(digits), number >= 0, number <= Limits.captureWaitMilliseconds / worth else {
            let most = Limits.captureWaitMilliseconds / 1000
            throw Mistake(sentence: "'wait' is a time such as 5s or 250ms, \(most)s at most, not '\(text)'.")
        }
        return number * worth
    }

    /// Decodes percent-encoding (RFC 3986, section 2.1); nil if it is invalid.
    private static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let high = Hexadecimal.value(rest.removeFirst()),
                let low = Hexadecimal.value(rest.removeFirst())
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
