import PostriderCourier
import PostriderNotifications
import Testing

/// Vectors like those of `GoldenTests`, for the messages of a user notification center.
@Suite struct CenterGoldenTests {
    static let shown: LocalContent = {
        var content = LocalContent()
        content.title = "T"
        content.subtitle = "S"
        content.body = "B"
        content.badge = 0
        content.sound = "ping"
        content.userInfo = Array(#"{"a":1}"#.utf8)
        content.category = "c"
        content.thread = "t"
        return content
    }()
    static let full = LocalRequest(
        identifier: "id", content: shown,
        trigger: .calendar(CalendarMoment(month: 2, day: 29, hour: 0, zone: "Europe/Berlin"), repeats: true))
    static let notice = LocalNotice(
        request: LocalRequest(
            identifier: "x", content: LocalContent(), trigger: .at(Moment(milliseconds: 0))),
        at: Moment(milliseconds: 1_700_000_000_000))
    static let categories = [
        LocalCategory(
            identifier: "c",
            actions: [
                LocalAction(
                    identifier: "r", title: "Reply", options: 4,
                    textInput: LocalAction.TextInput(buttonTitle: "Send", placeholder: "…")),
                LocalAction(identifier: "d", title: "Delete", options: 2, textInput: nil),
            ]),
        LocalCategory(identifier: "e", actions: []),
    ]

    static let orderVectors: [(CenterOrder, String)] = [
        (
            .add(full),
            "5a4b08ac021203612e621a410a02696412200a01541201531a014220002a0470696e6732077b2261223a317d3a"
                + "01634201741a1912171002181d30004a0d4575726f70652f4265726c696e7801"
        ),
        (
            .add(
                LocalRequest(
                    identifier: "x", content: LocalContent(),
                    trigger: .interval(milliseconds: 90_000, repeats: true))),
            "5a1908ac021203612e621a0f0a017812001a080a060890bf057801"
        ),
        (
            .add(LocalRequest(identifier: "x", content: LocalContent(), trigger: nil)),
            "5a0f08ac021203612e621a050a01781200"
        ),
        (
            .removePending(.some(["a", ""])),
            "5a0f08ac021203612e6222050a01610a00"
        ),
        (
            .removeDelivered(.all),
            "5a0c08ac021203612e622a021001"
        ),
        (
            .list(.pending),
            "5a0a08ac021203612e623200"
        ),
        (
            .list(.missed),
            "5a0c08ac021203612e6232020802"
        ),
        (
            .requestAuthorization(options: 7),
            "5a0c08ac021203612e623a020807"
        ),
        (
            .settings,
            "5a0a08ac021203612e624200"
        ),
        (
            .setCategories(categories),
            "5a3e08ac021203612e624a340a2d0a016312190a017212055265706c791804220b0a0453656e641203e280a612"
                + "0d0a0164120644656c65746518020a030a0165"
        ),
        (
            .categories,
            "5a0a08ac021203612e625200"
        ),
    ]

    @Test("what an app asks is written as protobuf writes it", arguments: orderVectors.indices)
    func orders(_ index: Int) throws {
        let (order, hex) = Self.orderVectors[index]
        try check(AppMessage.center(CenterCall(call: 300, topic: "a.b", order: order)), hex)
    }

    static let answerVectors: [(CenterAnswer.Content, String)] = [
        (
            .done,
            "520508ac021200"
        ),
        (
            .refused("no", isForbidden: true),
            "520b08ac021a060a026e6f1001"
        ),
        (
            .item(notice),
            "521708ac0222120a090a017812001a0218001080d095ffbc31"
        ),
        (
            .authorization(.notDetermined),
            "520508ac022800"
        ),
        (
            .authorization(.authorized),
            "520508ac022802"
        ),
        (
            .categories(categories),
            "523908ac0232340a2d0a016312190a017212055265706c791804220b0a0453656e641203e280a6120d0a016412"
                + "0644656c65746518020a030a0165"
        ),
    ]

    @Test("what it is answered is written as protobuf writes it", arguments: answerVectors.indices)
    func answers(_ index: Int) throws {
        let (content, hex) = Self.answerVectors[index]
        try check(AgentMessage.answer(CenterAnswer(call: 300, content: content)), hex)
    }

    @Test("what is handed over, and what the owner says, is written as protobuf writes it")
    func handOver() throws {
        let (notice, identity) = (Self.notice, Samples.identity)
        try check(AppMessage.attach(topic: "a.b"), "52050a03612e62")
        try check(
            AgentMessage.fired(
                Fired(
                    delivery: 5, identity: identity, topic: "a.b", notice: notice,
                    firedAt: Moment(milliseconds: 1_700_000_000_001))),
            "5a3408051210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222120a090a017812001a0218001080d095ff"
                + "bc312881d095ffbc31"
        )
        try check(
            AgentMessage.responded(
                Responded(
                    delivery: 5, identity: identity, topic: "a.b", subject: .local(notice), action: "r",
                    text: "")),
            "623208051210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e6222120a090a017812001a0218001080d095ff"
                + "bc313201723a00"
        )
        try check(
            AgentMessage.responded(
                Responded(
                    delivery: 5, identity: identity, topic: "a.b",
                    subject: .remote(payload: Array("{}".utf8)), action: "d", text: nil)),
            "622008051210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e622a027b7d320164"
        )
        try check(
            AgentMessage.authorization(Authorization(topic: "a.b", status: .denied)), "6a070a03612e621001")
    }

    @Test("what holds on the device is written as protobuf writes it")
    func device() throws {
        try check(
            AgentMessage.deviceState(DeviceState(link: nil, keyboard: nil, timeZone: "GMT")),
            "aa01051a03474d54")
        try check(
            AgentMessage.deviceState(
                DeviceState(
                    link: LinkChange(phase: .didConnect, relay: "r:1"),
                    keyboard: KeyboardFrame(x: 0, y: 5, width: 9, height: 4), timeZone: "GMT")),
            "aa01160a0708021203723a3112061005180920041a03474d54")
    }

    @Test("what happens to an app, and what it fails at, is written as protobuf writes it")
    func life() throws {
        try check(AppMessage.failed(Failed(delivery: 300, reason: "No.")), "620808ac0212034e6f2e")
        try check(
            AgentMessage.lifeCycle(LifeCycle(topic: "a.b", event: .willTerminate)), "72070a03612e621004")
        try check(
            AgentMessage.lifeCycle(
                LifeCycle(topic: "a.b", event: .didFinishLaunching, launch: .activation)),
            "720b0a03612e6210011a022200")
        let responded = Responded(
            delivery: 1, identity: NotificationIdentity(high: 0, low: 1), topic: "a.b",
            subject: .remote(payload: Array("{}".utf8)), action: "x", text: nil)
        try check(
            AgentMessage.lifeCycle(
                LifeCycle(topic: "a.b", event: .didFinishLaunching, launch: .responded(responded))),
            "722b0a03612e6210011a221a2008011210000000000000000000000000000000011a03612e622a027b7d320178")
    }

}
