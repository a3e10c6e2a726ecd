import PostriderCourier
import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("An alert in the words of a desktop")
struct DesktopNotificationTests {
    private func alert(_ payload: String) -> Alert? {
        Alert(.remote(.sample(1, identity: 5, payload: payload)), of: 1)
    }

    private func shown(
        _ payload: String, _ options: PresentationOptions = .all, category: LocalCategory? = nil,
        capabilities: Set<String> = ["body", "actions"]
    ) throws -> DesktopNotification {
        DesktopNotification(
            try #require(alert(payload)), options, category: category, manifest: nil,
            capabilities: capabilities)
    }

    @Test(
        "is what a payload says, as far as it says it rightly",
        arguments: [
            (#"{"aps":{"alert":"b"}}"#, ["", "", "b", ""]),
            (
                #"{"aps":{"alert":{"title":"t","subtitle":"s","body":"b"},"sound":"ping"}}"#,
                ["t", "s", "b", "ping"]
            ),
            (#"{"aps":{"alert":{"title":7,"body":"b"},"sound":{"name":"n"}}}"#, ["", "", "b", "n"]),
            (#"{"aps":{"badge":3}}"#, ["", "", "", ""]), (#"{"aps":{"content-available":1}}"#, nil),
            (#"{"aps":{"alert":{"loc-key":"K"}}}"#, nil), ("{}", nil), (#"{"aps":7}"#, nil),
        ] as [(String, [String]?)]
    )
    func payloads(_ payload: String, _ expected: [String]?) {
        let content = alert(payload)?.content
        #expect(content.map { [$0.title, $0.subtitle, $0.body, $0.sound] } == expected)
    }

    @Test("is shown for pushes of type alert only, under the collapse identifier or its own")
    func kinds() {
        func push(_ type: String?, _ collapse: String?) -> Alert? {
            let deliver = Deliver(
                delivery: 1, identity: NotificationIdentity(high: 1, low: 2), topic: "com.example.one",
                payload: Array(#"{"aps":{"alert":"b"}}"#.utf8), priority: .immediate,
                expiration: .nowOrNever, collapseIdentifier: collapse, pushType: type,
                acceptedAt: Moment(milliseconds: 1))
            return Alert(.remote(deliver), of: 1)
        }
        #expect(push("alert", "score")?.key.identifier == "score")
        #expect(push(nil, nil)?.key.identifier == NotificationIdentity(high: 1, low: 2).description)
        #expect(push("background", nil) == nil && push("voip", nil) == nil)
    }

    @Test("has its markup escaped where the server takes markup, and is as it is where not")
    func markup() throws {
        let payload = #"{"aps":{"alert":{"title":"<b>1 & 2</b>","body":"<a href=\"x\">3 & 4</a>"}}}"#
        let plain = try shown(payload)
        #expect(plain.body == #"<a href="x">3 & 4</a>"# && plain.summary == "<b>1 & 2</b>")
        let marked = try shown(payload, capabilities: ["body", "body-markup"])
        #expect(marked.body == #"&lt;a href="x"&gt;3 &amp; 4&lt;/a&gt;"# && marked.summary == plain.summary)
    }

    @Test("has its markup escaped also where letters that join their neighbours stand beside it")
    func joinedMarkup() throws {
        // A prefix of Arabic numbers combines with the next character, an accent with the previous one.
        let body = "\u{0600}<b>\u{0301}\u{0600}&\u{0301}"
        let marked = try shown(#"{"aps":{"alert":"\#(body)"}}"#, capabilities: ["body", "body-markup"])
        #expect(marked.body.unicodeScalars.allSatisfy { $0 != "<" && $0 != ">" })
        #expect(marked.body.unicodeScalars.map(String.init).joined().utf8.count == body.utf8.count + 10)
    }

    @Test("says nothing that a bus or a screen cannot say")
    func controlCharacters() throws {
        let notification = try shown(
            #"{"aps":{"alert":{"title":"a\u0000b\nc","subtitle":"s","body":"d\u0000\u001be\nf"}}}"#)
        #expect(notification.summary == "a b c" && notification.body == "s\nde\nf")
    }

    @Test("has a summary in any case, and its body in it where the server shows none")
    func summary() throws {
        let payload = #"{"aps":{"alert":"b\nc"}}"#
        #expect(try shown(payload).summary == "com.example.one")
        let small = try shown(payload, capabilities: [])
        #expect(small.summary == "com.example.one: b c" && small.body == "" && small.actions == [])
    }

    @Test("offers the actions of its category, and one that takes a text where the server can take one")
    func actions() throws {
        func action(_ identifier: String, asks: Bool = false) -> LocalAction {
            LocalAction(
                identifier: identifier, title: "T\(identifier)", options: 0,
                textInput: asks ? LocalAction.TextInput(buttonTitle: "Send", placeholder: "…") : nil)
        }
        let category = LocalCategory(
            identifier: "c", actions: [action("default"), action("r", asks: true), action("s", asks: true)])
        let payload = #"{"aps":{"alert":"b","category":"c"}}"#
        let plain = try shown(payload, category: category)
        #expect(plain.actions == ["default", "Open", "action.default", "Tdefault"])
        let capable = try shown(
            payload, category: category, capabilities: ["body", "actions", "inline-reply"])
        #expect(capable.actions == plain.actions + ["inline-reply", "Tr"])
        #expect(capable.hints.contains { $0.name == "x-kde-reply-submit-button-text" })
        #expect(capable.hints.contains { $0 == ("category", .string("x-postrider.c")) })
        #expect(DesktopNotification.action("default", among: category.actions) == .success(nil))
        #expect(DesktopNotification.action("action.default", among: category.actions) == .success("default"))
        #expect(DesktopNotification.action("action.gone", among: category.actions) == .success("gone"))
        #expect(DesktopNotification.action("other", among: category.actions) == .failure(.init()))
    }

    @Test("finds an action by the key that came back, though a bus does not carry its name", .bug(id: "A7"))
    func actionKeys() throws {
        let identifiers = ["a\u{FFFF}", "b\u{7}\u{0}"]
        let category = LocalCategory(
            identifier: "c",
            actions: identifiers.map { LocalAction(identifier: $0, title: "T", options: 0, textInput: nil) })
        let shown = try shown(#"{"aps":{"alert":"b","category":"c"}}"#, category: category)
        let keys = [shown.actions[2], shown.actions[4]].map(BusValue.carried)
        #expect(keys == ["action.a\u{FFFD}", "action.b"])
        for (key, identifier) in zip(keys, identifiers) {
            #expect(DesktopNotification.action(key, among: category.actions) == .success(identifier))
        }
    }

    @Test("disturbs as much as its provider and its app want")
    func disturbance() throws {
        func payload(_ level: String) -> String {
            #"{"aps":{"alert":"b","sound":"default","interruption-level":"\#(level)"}}"#
        }
        func hint(_ name: String, _ notification: DesktopNotification) -> BusValue? {
            notification.hints.first { $0.name == name }?.value
        }
        for (level, urgency, timeout) in [
            ("passive", 0, -1), ("active", 1, -1), ("critical", 2, 0), ("what", 1, -1),
        ] as [(String, UInt8, Int32)] {
            let notification = try shown(payload(level))
            #expect(hint("urgency", notification) == .byte(urgency) && notification.timeout == timeout)
        }
        let loud = try shown(payload("active"), capabilities: ["sound"])
        #expect(hint("sound-name", loud) == .string("message-new-instant"))
        let quiet = try shown(payload("active"), [.banner], capabilities: ["sound"])
        #expect(hint("suppress-sound", quiet) == .boolean(true) && hint("sound-name", quiet) == nil)
        #expect(hint("transient", quiet) == .boolean(true) && hint("transient", loud) == nil)
    }
}
