internal import PostriderJSON
package import PostriderNotifications

/// A text for a device that a script sends with a plain request (`POST /send/<topic>/<device>`), as an alert.
package struct PlainMessage: Equatable, Sendable {
    /// Why a request is refused.
    package enum Flaw: Error, Equatable, Sendable, CaseIterable {
        /// The body is empty, or not text in UTF-8.
        case invalidText
        /// `Priority` has another value.
        case invalidPriority
        /// `TTL` is not a number of seconds.
        case invalidTTL
        /// `Collapse` is empty or too long.
        case invalidCollapse
        /// The text and the title are too long for one notification.
        case tooLarge

        /// One sentence for the sender.
        package var explanation: String {
            switch self {
            case .invalidText: "the body must be the text of the alert, in UTF-8: curl -d 'text'"
            case .invalidPriority:
                "Priority must be one of min, low, default, high and urgent, or a number from 1 to 5"
            case .invalidTTL: "TTL must be one number of seconds, in digits"
            case .invalidCollapse: "Collapse must have from 1 to \(Limits.collapseIdentifierBytes) bytes"
            case .tooLarge:
                "text and title do not fit into the \(Limits.payloadBytes) bytes of a notification: send less"
            }
        }

        /// The status code of the answer.
        package var status: Int { self == .tooLarge ? 413 : 400 }
    }

    /// The payload: a JSON object with an alert.
    package let payload: [UInt8]
    /// The priority for the device.
    package let priority: Priority
    /// Seconds for which it is stored; 0 for one attempt.
    package let secondsToLive: Int64
    /// A later message with the same text here replaces this one; nil for none.
    package let collapse: String?

    /// The priorities, from 1 to 5, by the names that ntfy has for them.
    private static let priorities: [(names: [String], priority: Priority, level: String?)] = [
        (["min"], .low, "passive"), (["low"], .considerate, "passive"), (["default"], .immediate, nil),
        (["high"], .immediate, "time-sensitive"), (["urgent", "max"], .immediate, "time-sensitive"),
    ]

    /// Creates a message of which the form is known to be good.
    package init(payload: [UInt8], priority: Priority, secondsToLive: Int64, collapse: String?) {
        self.payload = payload
        self.priority = priority
        self.secondsToLive = secondsToLive
        self.collapse = collapse
    }

    /// Reads a request from its body and its header fields.
    ///
    /// - Parameter values: gives the values of a header field by its name in lower case.
    package init(body: [UInt8], values: (String) -> [String]) throws(Flaw) {
        func value(_ name: String) -> String? { (values(name) + values("x-" + name)).first?.trimmed }
        guard let text = String(validating: body, as: UTF8.self), !text.isEmpty else { throw .invalidText }
        let word = value("priority")?.lowercased() ?? "default"
        let place = Int(word).map { $0 - 1 } ?? Self.priorities.firstIndex { $0.names.contains(word) }
        guard let place, Self.priorities.indices ~= place else { throw .invalidPriority }
        priority = Self.priorities[place].priority
        let most = Limits.storedDays * 24 * 60 * 60
        let seconds = value("ttl") ?? "\(most)"
        guard !seconds.isEmpty, seconds.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { throw .invalidTTL }
        secondsToLive = min(Int64(seconds) ?? most, most)
        collapse = value("collapse")
        if let collapse, !(1...Limits.collapseIdentifierBytes ~= collapse.utf8.count) {
            throw .invalidCollapse
        }
        var alert: [String: JSONValue] = ["body": .string(text)]
        alert["title"] = value("title").map { .string($0) }
        var aps: [String: JSONValue] = ["alert": .object(alert)]
        aps["interruption-level"] = Self.priorities[place].level.map { .string($0) }
        payload = JSONValue.object(["aps": .object(aps)]).bytes ?? []
        guard !payload.isEmpty, payload.count <= Limits.payloadBytes else { throw .tooLarge }
    }
}
