import PostriderNotifications
import Testing

@testable import PostriderWebPush

@Suite("A plain message of a script")
struct PlainMessageTests {
    private func message(
        _ text: String = "hello", _ fields: [String: String] = [:]
    ) throws(PlainMessage.Flaw) -> PlainMessage {
        try PlainMessage(body: Array(text.utf8)) { fields[$0].map { [$0] } ?? [] }
    }

    @Test("becomes an alert with its text, for as long as notifications are stored")
    func plain() throws {
        let plain = try message("it's \"done\"\n")
        #expect(
            String(decoding: plain.payload, as: UTF8.self) == #"{"aps":{"alert":{"body":"it's \"done\"\n"}}}"#
        )
        #expect(plain.priority == .immediate && plain.collapse == nil)
        #expect(plain.secondsToLive == Limits.storedDays * 24 * 60 * 60)
    }

    @Test("takes title, time to live and collapse identifier from its header fields, with and without X-")
    func fields() throws {
        let full = try message("a", ["title": "b", "x-ttl": "60", "collapse": "c"])
        #expect(
            String(decoding: full.payload, as: UTF8.self) == #"{"aps":{"alert":{"body":"a","title":"b"}}}"#)
        #expect(full.secondsToLive == 60 && full.collapse == "c")
        #expect(try message("a", ["x-title": "b"]).payload == message("a", ["title": "b"]).payload)
    }

    @Test(
        "has the five priorities of ntfy by name and by number",
        arguments: [
            ("min", .low, "passive"), ("1", .low, "passive"), ("low", .considerate, "passive"),
            ("2", .considerate, "passive"), ("default", .immediate, nil), ("3", .immediate, nil),
            ("HIGH", .immediate, "time-sensitive"), ("4", .immediate, "time-sensitive"),
            ("urgent", .immediate, "time-sensitive"), ("max", .immediate, "time-sensitive"),
            ("5", .immediate, "time-sensitive"),
        ] as [(String, Priority, String?)])
    func priorities(_ word: String, _ priority: Priority, _ level: String?) throws {
        let made = try message("a", ["priority": word])
        #expect(made.priority == priority)
        let text = String(decoding: made.payload, as: UTF8.self)
        #expect(text.contains("interruption-level") == (level != nil))
        #expect(level.map { text.contains(#""interruption-level":"\#($0)""#) } ?? true)
    }

    @Test(
        "is refused with a sentence for a wrong value",
        arguments: [
            ("", [:], .invalidText), ("a", ["priority": "9"], .invalidPriority),
            ("a", ["priority": "0"], .invalidPriority), ("a", ["priority": "soon"], .invalidPriority),
            ("a", ["ttl": "-1"], .invalidTTL), ("a", ["ttl": ""], .invalidTTL),
            ("a", ["collapse": ""], .invalidCollapse),
            ("a", ["collapse": String(repeating: "c", count: 65)], .invalidCollapse),
            (String(repeating: "a", count: 4090), [:], .tooLarge),
        ] as [(String, [String: String], PlainMessage.Flaw)])
    func flaws(_ text: String, _ fields: [String: String], _ flaw: PlainMessage.Flaw) {
        #expect(throws: flaw) { try message(text, fields) }
        #expect(flaw.status == (flaw == .tooLarge ? 413 : 400))
    }

    @Test("is text in UTF-8")
    func text() {
        #expect(throws: PlainMessage.Flaw.invalidText) {
            try PlainMessage(body: [0x61, 0xFF]) { _ in [] }
        }
    }
}
