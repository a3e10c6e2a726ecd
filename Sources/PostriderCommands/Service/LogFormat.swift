package import FoundationEssentials
package import PostriderNotifications

/// The form in which a service writes its log, in the words of the setting.
package enum LogFormat: String, CaseIterable {
    /// A line for people, on stderr.
    case text
    /// One JSON object per line, on stderr.
    case json
    /// Entries of systemd's journal, sent to it directly.
    case journal

    /// The help of the setting.
    package static let help =
        "text (if not given), json (one object per line) or journal (entries with fields, sent to systemd's "
        + "journal)."
}

/// Writes the lines of a log as text. Whatever a line contains, it becomes one line or one entry: ``visible(_:)``.
package struct LogEncoder: Sendable {
    package let format: LogFormat
    /// Whether stderr is the journal, which adds the time to each line and reads its severity from `<n>`
    /// (`sd-daemon(3)`).
    package let isJournal: Bool

    /// The line as it is written. An entry of the journal is its fields (``fields(ofEntry:)``).
    package func text(of line: Log.Line, at time: Date) -> String {
        let text = Self.visible(line.text)
        switch format {
        case .text:
            return prefix(line.level)
                + (isJournal ? text : "\(time.formatted(.iso8601)) \(line.level): \(text)")
        case .json:
            var members = [
                ("time", Self.precise.format(time)), ("level", "\(line.level)"), ("message", text),
            ]
            members += line.fields.named.map { ($0.name, Self.visible($0.value)) }
            return prefix(line.level)
                + "{\(members.map { "\(Self.quoted($0)):\(Self.quoted($1))" }.joined(separator: ","))}"
        case .journal:
            var fields = ["\(Self.entryStart)\(line.level.rawValue)", "MESSAGE=\(text)"]
            for (name, value) in line.fields.named {
                let name = "POSTRIDER_" + name.uppercased().replacing("-", with: "_")
                fields.append("\(name)=\(Self.visible(value))")
            }
            return fields.joined(separator: "\n")
        }
    }

    /// A complaint of the program that is no line of the log. As text it stays as it is.
    package func text(ofComplaint text: String, at time: Date) -> String {
        format == .text ? text : self.text(of: Log.Line(.error, text), at: time)
    }

    /// How the text of an entry for the journal begins, and no line in another format.
    package static let entryStart = "PRIORITY="

    /// The fields of an entry for the journal. No field has a line break.
    package static func fields(ofEntry text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    private func prefix(_ level: Log.Level) -> String { isJournal ? "<\(level.rawValue)>" : "" }

    /// RFC 3339 with milliseconds.
    private static let precise = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func quoted(_ text: String) -> String {
        (try? Console.json(text)) ?? "\"\""
    }

    /// A text in which every character can be seen: control characters, line separators and marks that change the
    /// direction of text are written as `\u{1b}`. A peer that chooses a part of a line, such as a device its name,
    /// cannot make a line or a field of its own in this way, or hide a part of one.
    package static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var visible = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": visible += "\\n"
            case "\r": visible += "\\r"
            case "\t": visible += "\\t"
            case _ where isHidden(scalar): visible += "\\u{\(String(scalar.value, radix: 16))}"
            default: visible.unicodeScalars.append(scalar)
            }
        }
        return visible
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        // LINE SEPARATOR, PARAGRAPH SEPARATOR, and the explicit marks of UAX #9, section 2.
        case 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
        default: false
        }
    }
}
