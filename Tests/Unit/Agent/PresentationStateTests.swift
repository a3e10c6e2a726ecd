import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The machine that decides what is shown")
struct PresentationStateTests {
    private typealias Event = PresentationState.Event
    private typealias Action = PresentationState.Action
    private static let server = "bus:1.5"

    private static func alert(
        _ identifier: String, title: String = "T", badge: UInt32? = nil, topic: String = "com.example.one"
    ) -> Alert {
        var content = LocalContent()
        content.title = title
        content.badge = badge
        let request = LocalRequest(identifier: identifier, content: content, trigger: nil)
        let notice = LocalNotice(request: request, at: Moment(milliseconds: 1))
        guard
            let alert = Alert(
                app: 1, topic: topic, identifier: identifier,
                identity: NotificationIdentity(high: 1, low: 2), subject: .local(notice), reported: nil)
        else { preconditionFailure("there is something in it") }
        return alert
    }
    private static let (a, b, newA) = (alert("a"), alert("b"), alert("a", title: "new"))
    private static func place(_ number: UInt32, _ server: String = server) -> AlertRegister.Place {
        AlertRegister.Place(number: number, server: server)
    }
    private static let came = Event.screenCame(server: server)
    /// The alert `a` is on screen with number 7; its ticket was 2.
    private static let shown: [Event] = [
        came, .arrived(a, appDecides: false), .sent(ticket: 2, number: 7),
    ]

    /// The events before, the tested event, and its actions.
    private static let cases: [(String, [Event], Event, [Action])] = [
        (
            "an alert is shown", [came], .arrived(a, appDecides: false),
            [.show(ticket: 2, a, .all, replacing: 0)]
        ),
        (
            "and kept where it is", [came, .arrived(a, appDecides: false)], .sent(ticket: 2, number: 7),
            [.keep(a, at: place(7))]
        ),
        (
            "or forgotten where it cannot be", [came, .arrived(a, appDecides: false)],
            .sent(ticket: 2, number: nil), [.forget(a, isDismissed: false)]
        ),
        ("it waits for a screen", [], .arrived(a, appDecides: false), []),
        (
            "which shows what has waited, in order",
            [.arrived(a, appDecides: false), .arrived(b, appDecides: false)], came,
            [.show(ticket: 3, a, .all, replacing: 0), .show(ticket: 4, b, .all, replacing: 0)]
        ),
        (
            "one takes the place of another of its identifier", shown, .arrived(newA, appDecides: false),
            [.show(ticket: 4, newA, .all, replacing: 7)]
        ),
        (
            "but waits while that is under way", [came, .arrived(a, appDecides: false)],
            .arrived(newA, appDecides: false), []
        ),
        (
            "to go where it is then",
            [came, .arrived(a, appDecides: false), .arrived(newA, appDecides: false)],
            .sent(ticket: 2, number: 7), [.show(ticket: 4, newA, .all, replacing: 7)]
        ),
        (
            "or anywhere, if it could not be shown",
            [came, .arrived(a, appDecides: false), .arrived(newA, appDecides: false)],
            .sent(ticket: 2, number: nil), [.show(ticket: 4, newA, .all, replacing: 0)]
        ),
        ("an app is asked", [came], .arrived(a, appDecides: true), [.ask(question: 1, a)]),
        (
            "and decides", [came, .arrived(a, appDecides: true)], .decided(question: 1, [.banner]),
            [.show(ticket: 2, a, [.banner], replacing: 0)]
        ),
        (
            "against it", [came, .arrived(a, appDecides: true)], .decided(question: 1, []),
            [.forget(a, isDismissed: false)]
        ),
        (
            "or not in time", [came, .arrived(a, appDecides: true)], .timeIsUp(question: 1),
            [.show(ticket: 2, a, .all, replacing: 0)]
        ),
        (
            "its word counts once",
            [came, .arrived(a, appDecides: true), .timeIsUp(question: 1)], .decided(question: 1, []), []
        ),
        (
            "a decision about what was replaced is none",
            [came, .arrived(a, appDecides: true), .arrived(newA, appDecides: true)],
            .decided(question: 1, []), []
        ),
        (
            "a badge alone is put on, and that is all", [came],
            .arrived(alert("n", title: "", badge: 3), appDecides: false),
            [
                .badge(topic: "com.example.one", 3),
                .forget(alert("n", title: "", badge: 3), isDismissed: false),
            ]
        ),
        (
            "a badge that the app does not want is not",
            [came, .arrived(alert("n", badge: 3), appDecides: true)], .decided(question: 1, [.banner]),
            [.show(ticket: 2, alert("n", badge: 3), [.banner], replacing: 0)]
        ),
        (
            "the user chooses an action", shown, .chosen(number: 7, action: "stop", text: nil),
            [.respond(a, action: "stop", text: nil), .close(number: 7), .forget(a, isDismissed: true)]
        ),
        (
            "what the user has answered unreadably is shown again", shown, .unanswered(number: 7),
            [.close(number: 7), .show(ticket: 3, a, .all, replacing: 0)]
        ),
        (
            "and is not put away with the notification that was answered",
            shown + [.unanswered(number: 7), .sent(ticket: 3, number: 8)], .dismissed(number: 7), []
        ),
        ("of something unknown", shown, .chosen(number: 8, action: "stop", text: nil), []),
        (
            "and then it is closed", shown + [.chosen(number: 7, action: nil, text: nil)],
            .dismissed(number: 7), []
        ),
        (
            "the user puts it away", shown, .dismissed(number: 7),
            [.respond(a, action: "postrider.dismiss", text: nil), .forget(a, isDismissed: true)]
        ),
        ("its time is over", shown, .expired(number: 7), []),
        (
            "and it can be chosen still", shown + [.expired(number: 7)],
            .chosen(number: 7, action: nil, text: nil),
            [.respond(a, action: nil, text: nil), .close(number: 7), .forget(a, isDismissed: true)]
        ),
        (
            "the app revokes it", shown, .revoked(topic: "com.example.one", identifiers: ["a", "x"]),
            [.close(number: 7), .forget(a, isDismissed: false)]
        ),
        (
            "all of them", shown, .revoked(topic: "com.example.one", identifiers: nil),
            [.close(number: 7), .forget(a, isDismissed: false)]
        ),
        ("those of another app stay", shown, .revoked(topic: "com.example.two", identifiers: nil), []),
        (
            "one that was revoked under way is closed when it is there",
            [
                came, .arrived(a, appDecides: false),
                .revoked(topic: "com.example.one", identifiers: ["a"]),
            ],
            .sent(ticket: 2, number: 7), [.close(number: 7)]
        ),
        (
            "the owner responds in the user's place", shown,
            .responded(Alert.Key(topic: "com.example.one", identifier: "a"), action: "x", text: "y"),
            [
                .respond(a, action: "x", text: "y"), .close(number: 7), .forget(a, isDismissed: true),
            ]
        ),
        (
            "what was under way to a server that went is shown by the next",
            [came, .arrived(a, appDecides: false), .screenWent], .screenCame(server: "other"),
            [.show(ticket: 3, a, .all, replacing: 0)]
        ),
        (
            "what a server showed that went is over", shown + [.screenWent], .screenCame(server: "other"),
            [.forget(a, isDismissed: false)]
        ),
        (
            "an earlier agent's alert is answered",
            [.restored(.init(alert: a, place: place(7), isShown: true)), came],
            .chosen(number: 7, action: nil, text: nil),
            [.respond(a, action: nil, text: nil), .close(number: 7), .forget(a, isDismissed: true)]
        ),
        (
            "what an earlier agent has not shown is shown",
            [.restored(.init(alert: newA, place: place(7), isShown: false))], came,
            [.show(ticket: 2, newA, .all, replacing: 7)]
        ),
    ]

    @Test("does what is to be done", arguments: cases.indices)
    func table(_ index: Int) {
        let (name, before, event, expected) = Self.cases[index]
        var router = PresentationState(isHeadless: false)
        for event in before { _ = router.handle(event) }
        #expect(router.handle(event) == expected, "\(name)")
    }

    @Test("without a screen ever only notes, and knows what it has noted")
    func headless() {
        var router = PresentationState(isHeadless: true)
        #expect(
            router.handle(.arrived(Self.a, appDecides: false)) == [.note(Self.a), .keep(Self.a, at: nil)])
        #expect(router.alerts == [Self.a])
        #expect(
            router.handle(.responded(Self.a.key, action: "go", text: nil)) == [
                .respond(Self.a, action: "go", text: nil), .forget(Self.a, isDismissed: true),
            ])
        #expect(router.handle(.restored(.init(alert: Self.a, place: nil, isShown: true))) == [])
    }

    @Test("keeps so many of an app, and lets the oldest go")
    func bound() {
        var router = PresentationState(isHeadless: true)
        for number in 0..<Limits.alertsPerTopic {
            _ = router.handle(.arrived(Self.alert("\(number)"), appDecides: false))
        }
        let actions = router.handle(.arrived(Self.alert("more"), appDecides: false))
        #expect(actions.first == .forget(Self.alert("0"), isDismissed: false))
        #expect(router.alerts.count == Limits.alertsPerTopic)
    }
}
