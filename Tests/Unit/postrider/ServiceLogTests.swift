import Foundation
import PostriderNotifications
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Lines of the log")
struct ServiceLogTests {
    private static let epoch = Date(timeIntervalSince1970: 0)
    private static let fields = Log.Fields(
        connection: "192.0.2.7:40112", device: "0a", topic: "com.example.app", apnsID: "11",
        reason: "unknown_ca")
    /// Texts of peers that would be lines or fields of their own if they were written as they are.
    private static let forgeries = [
        "one\n<0>two", "one\r\n1970-01-01T00:00:00Z error: two", "one\u{85}two", "one\u{2028}two\u{2029}",
        "one\",\"level\":\"error", "one\\", "one\nPRIORITY=0\nPOSTRIDER_DEVICE=ff", "one\u{0}two",
        "one\u{1b}[2Ktwo", "one\u{202e}two",
        String(decoding: [0x6F, 0xFF, 0xC0, 0x0A] as [UInt8], as: UTF8.self),
    ]

    private func text(_ line: Log.Line, _ format: LogFormat, isJournal: Bool = false) -> String {
        LogEncoder(format: format, isJournal: isJournal).text(of: line, at: Self.epoch)
    }

    private func members(_ text: String) throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
    }

    @Test("go to the journal only if stderr is still the socket that systemd made")
    func journal() {
        #expect(ServiceLog.isJournal(stream: "8:12345", target: "socket:[12345]"))
        #expect(!ServiceLog.isJournal(stream: "8:12345", target: "socket:[1234]"))
        #expect(!ServiceLog.isJournal(stream: "8:12345", target: "/dev/null"))
        #expect(!ServiceLog.isJournal(stream: nil, target: "socket:[12345]"))
        #expect(!ServiceLog.isJournal(stream: "", target: nil))
    }

    @Test("carry the severity as a number for the journal, and in words with the time for people")
    func forms() {
        let line = Log.Line(.error, "one", fields: Self.fields)
        #expect(text(line, .text, isJournal: true) == "<3>one")
        #expect(text(line, .text) == "1970-01-01T00:00:00Z error: one")
    }

    @Test("are objects with the time, the severity, the sentence and the known fields, as JSON")
    func json() throws {
        let line = Log.Line(.warning, #"a "word" of Zoë"#, fields: Self.fields)
        #expect(
            try members(text(line, .json)) == [
                "time": "1970-01-01T00:00:00.000Z", "level": "warning", "message": #"a "word" of Zoë"#,
                "connection": "192.0.2.7:40112", "device": "0a", "topic": "com.example.app", "apns-id": "11",
                "reason": "unknown_ca",
            ])
        #expect(
            try members(text(Log.Line(.info, "one"), .json)).keys.sorted() == ["level", "message", "time"])
        // The journal removes the severity from a line of stderr, and keeps the object.
        #expect(text(line, .json, isJournal: true).hasPrefix(#"<4>{"time":"#))
    }

    @Test("are entries with fields for the journal")
    func entry() {
        let text = text(Log.Line(.notice, "one", fields: Self.fields), .journal)
        #expect(
            LogEncoder.fields(ofEntry: text) == [
                "PRIORITY=5", "MESSAGE=one", "POSTRIDER_CONNECTION=192.0.2.7:40112", "POSTRIDER_DEVICE=0a",
                "POSTRIDER_TOPIC=com.example.app", "POSTRIDER_APNS_ID=11", "POSTRIDER_REASON=unknown_ca",
            ])
    }

    @Test(
        "stay one line or entry with the same fields whatever a peer writes into them", arguments: forgeries)
    func forged(_ forgery: String) throws {
        let line = Log.Line(
            .info, "device \(forgery) left", fields: Log.Fields(device: forgery, reason: forgery))
        for isJournal in [true, false] {
            let text = text(line, .text, isJournal: isJournal)
            #expect(text.split(whereSeparator: \.isNewline).count == 1 && !text.contains("\u{1b}"))
            #expect(text.hasPrefix(isJournal ? "<6>device " : "1970-01-01T00:00:00Z info: device "))
        }
        let json = text(line, .json)
        #expect(json.split(whereSeparator: \.isNewline).count == 1)
        let members = try members(json)
        #expect(members.keys.sorted() == ["device", "level", "message", "reason", "time"])
        #expect(members["level"] == "info" && members["message"]?.hasPrefix("device o") == true)
        let names = LogEncoder.fields(ofEntry: text(line, .journal)).map { $0.prefix { $0 != "=" } }
        #expect(names == ["PRIORITY", "MESSAGE", "POSTRIDER_DEVICE", "POSTRIDER_REASON"])
    }

    @Test("show what cannot be seen, and leave all other characters as they are")
    func visible() {
        #expect(
            LogEncoder.visible("a\n\r\t\u{1b}\u{7f}\u{9b}\u{202e}") == #"a\n\r\t\u{1b}\u{7f}\u{9b}\u{202e}"#)
        for text in ["Zoë's 📱", "家族の電話", "👩‍👩‍👧", "e\u{301}", ""] { #expect(LogEncoder.visible(text) == text) }
    }

    @Test("that the program complains in stay as they are as text, and are objects as JSON")
    func complaints() throws {
        let complaint = "postrider: The output cannot be written."
        func text(_ format: LogFormat) -> String {
            LogEncoder(format: format, isJournal: false).text(ofComplaint: complaint, at: Self.epoch)
        }
        #expect(text(.text) == complaint)
        #expect(try members(text(.json))["message"] == complaint)
        #expect(text(.journal) == "PRIORITY=3\nMESSAGE=\(complaint)")
    }
}
