/// A request of a provider, as a relay for tests has received it, with the answer.
public struct Capture: Sendable, Equatable {
    /// Its number among all requests, from 1.
    public let number: Int
    /// When it was completely received, in milliseconds since 1970.
    public let receivedAt: Int64
    /// The device token; nil if the path has none.
    public let token: String?
    /// The app: `apns-topic`.
    public let topic: String?
    /// The kind of notification: `apns-push-type`.
    public let pushType: String?
    /// The `apns-id` of the answer; nil if there is none.
    public let identifier: String?
    /// The HTTP status of the answer; nil if there was no answer.
    public let status: Int?
    /// The reason of a refusal; nil if the status is 200 or there was no answer.
    public let reason: String?
    /// What happened to the request.
    public let outcome: CaptureOutcome
    /// The number of the rule that decided, from 1; nil if none did.
    public let rule: Int?
    /// The header fields by name. If a name occurs twice, the last value counts.
    public let headers: [String: String]
    /// The body; nil if it is no JSON object.
    public let payload: PayloadValue?
    /// What happened to an accepted push afterwards, such as `sent` and `acknowledged`.
    public let events: [String]

    init?(_ value: PayloadValue) {
        guard let number = value["number"]?.integer, let at = value["at"]?.integer,
            let outcome = value["outcome"]?.string
        else { return nil }
        self.number = Int(number)
        receivedAt = at
        token = value["token"]?.string
        topic = value["topic"]?.string
        pushType = value["pushType"]?.string
        identifier = value["id"]?.string
        status = value["answer"]?["status"]?.integer.map { Int($0) }
        reason = value["answer"]?["reason"]?.string
        self.outcome = CaptureOutcome(rawValue: outcome)
        rule = value["rule"]?["number"]?.integer.map { Int($0) }
        var headers: [String: String] = [:]
        for field in value["headers"]?.array ?? [] {
            if let name = field["name"]?.string { headers[name] = field["value"]?.string }
        }
        self.headers = headers
        payload = value["payload"]
        events = value["events"]?.array?.compactMap { $0["kind"]?.string } ?? []
    }

    /// Checks some of the request's values; those that are not given may be anything.
    ///
    /// - Parameters:
    ///   - status: the HTTP status of the answer.
    ///   - reason: the reason of a refusal, such as `BadDeviceToken`.
    ///   - outcome: what happened to the request.
    ///   - token: the device token, in lower case.
    ///   - topic: the app.
    ///   - pushType: the kind of notification, such as `alert`.
    ///   - headers: only the given fields are compared.
    ///   - payload: of objects, only the given members are compared.
    /// - Throws: ``TestRelayError`` with all differences if there are any, so that the test fails with them.
    public func expect(
        status: Int? = nil, reason: String? = nil, outcome: CaptureOutcome? = nil, token: String? = nil,
        topic: String? = nil, pushType: String? = nil, headers: [String: String] = [:],
        payload: PayloadValue? = nil
    ) throws(TestRelayError) {
        var differences = Differences()
        differences.compare(
            "status", status.map { .integer(Int64($0)) }, self.status.map { .integer(Int64($0)) })
        let texts: [(name: String, expected: String?, value: String?)] =
            [
                ("reason", reason, self.reason), ("outcome", outcome?.rawValue, self.outcome.rawValue),
                ("token", token, self.token), ("topic", topic, self.topic),
                ("pushType", pushType, self.pushType),
            ]
            + headers.sorted { $0.key < $1.key }.map { ("headers.\($0.key)", $0.value, self.headers[$0.key]) }
        for (name, expected, value) in texts {
            differences.compare(name, expected.map { .string($0) }, value.map { .string($0) })
        }
        differences.compare("payload", payload, self.payload)
        guard !differences.lines.isEmpty else { return }
        let lines = ["Request \(number) differs:"] + differences.lines + ["It was:", description]
        throw TestRelayError(lines.joined(separator: "\n"))
    }
}

extension Capture: CustomStringConvertible {
    /// One line: number, answer, outcome, rule, push type, topic, the beginning of the token, and the payload.
    public var description: String {
        let answer = status.map { "\($0)" + (reason.map { " \($0)" } ?? "") } ?? "no answer"
        let decision = rule.map { " by rule \($0)" } ?? ""
        let words = [
            "\(number):", answer, "(\(outcome.rawValue)\(decision))", pushType ?? "-", topic ?? "-",
            token.map { String($0.prefix(16)) } ?? "-", payload?.description ?? "no JSON",
        ]
        return words.joined(separator: " ")
    }
}

/// What happened to a request. `docs/reference/captures.md` lists all; a later version of the relay may have others.
public struct CaptureOutcome: RawRepresentable, Hashable, Sendable {
    /// The relay's word.
    public let rawValue: String

    /// Creates the outcome with the relay's word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It has no outcome yet.
    public static let open = CaptureOutcome(rawValue: "open")
    /// It was answered with 200, for a device of the relay.
    public static let accepted = CaptureOutcome(rawValue: "accepted")
    /// It was refused, as APNs would.
    public static let refused = CaptureOutcome(rawValue: "refused")
    /// It was answered with 200, and its device token belongs to no device.
    public static let captured = CaptureOutcome(rawValue: "captured")
    /// It was answered by a rule.
    public static let scripted = CaptureOutcome(rawValue: "scripted")
    /// It was answered with 200 and lost, because a rule says so.
    public static let lost = CaptureOutcome(rawValue: "lost")
    /// Its stream was reset by a rule.
    public static let reset = CaptureOutcome(rawValue: "reset")
    /// Its connection was closed by a rule.
    public static let closed = CaptureOutcome(rawValue: "closed")
    /// The provider cancelled it before it was answered.
    public static let abandoned = CaptureOutcome(rawValue: "abandoned")
    /// Another server got it, and its answer was passed back.
    public static let forwarded = CaptureOutcome(rawValue: "forwarded")
    /// It was to be passed on to another server, which did not answer.
    public static let unanswered = CaptureOutcome(rawValue: "unanswered")
}

/// Lines that say how values differ from what was expected.
struct Differences {
    private(set) var lines: [String] = []

    /// Compares a value unless nothing is expected. Of objects, only the expected members are compared.
    mutating func compare(_ path: String, _ expected: PayloadValue?, _ value: PayloadValue?) {
        switch (expected, value) {
        case (nil, _): break
        case (.object(let members)?, .object(let others)?):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                compare("\(path).\(name)", member, others[name])
            }
        case (.array(let elements)?, .array(let others)?) where elements.count == others.count:
            for (index, element) in elements.enumerated() {
                compare("\(path)[\(index)]", element, others[index])
            }
        case (let expected?, let value):
            guard expected != value else { return }
            lines.append("- \(path): \(expected)")
            lines.append("+ \(path): \(value?.description ?? "(missing)")")
        }
    }
}
