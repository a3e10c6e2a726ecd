import PostriderCourier
import PostriderNotifications
import Testing

/// Vectors like those of `GoldenTests`, made with gRPC for Python and docs/reference/agent.proto, for grants and the
/// other messages of UserNotifications.
@Suite struct GrantGoldenTests {
    private static func call(_ order: CenterOrder) -> AppMessage {
        .center(CenterCall(call: 300, topic: "a.b", order: order))
    }

    private static let content: LocalContent = {
        var content = LocalContent()
        content.title = "T"
        content.level = .passive
        content.relevance = 0.25
        return content
    }()

    private static let category = LocalCategory(
        identifier: "c", actions: [], options: 5, hiddenPreviewsPlaceholder: "P", intents: ["I", ""])

    private static let said: [(AppMessage, String)] = [
        (call(.settings(detailed: true)), "5a0c08ac021203612e6242020801"),
        (call(.setBadge(300)), "5a0d08ac021203612e625a0308ac02"),
        (call(.setBadge(0)), "5a0a08ac021203612e625a00"),
        (
            call(.add(LocalRequest(identifier: "x", content: content, trigger: nil))),
            "5a1d08ac021203612e621a130a0178120e0a0154480051000000000000d03f"
        ),
        (call(.setCategories([category])), "5a1908ac021203612e624a0f0a0d0a016318052201502a01492a00"),
    ]

    private static func answer(_ settings: CenterSettings) -> AgentMessage {
        .answer(CenterAnswer(call: 300, content: .settings(settings)))
    }

    private static let remote = Responded.Subject.remote(payload: Array("{}".utf8))

    private static let answered: [(AgentMessage, String)] = [
        (
            answer(
                CenterSettings(
                    status: .provisional, asked: [.badge, .sound, .alert, .provisional], granted: .alert,
                    badge: 9)),
            "520d08ac023a080803104718042009"
        ),
        (
            answer(CenterSettings(status: .notDetermined, asked: [], granted: [], badge: 0)),
            "520508ac023a00"
        ),
        (
            .responded(
                Responded(
                    delivery: 5, identity: Samples.identity, topic: "a.b", subject: remote, action: "d",
                    text: nil, identifier: "n", at: Moment(milliseconds: 0))),
            "622508051210f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff1a03612e622a027b7d32016442016e4800"
        ),
        (
            .willPresent(WillPresent(question: 7, topic: "a.b", subject: remote, identifier: "n")),
            "f2010e08071203612e6222027b7d2a016e"
        ),
    ]

    @Test("what an app says is what protobuf writes", .bug(id: "K5"), arguments: said.indices)
    func whatIsSaid(_ index: Int) throws { try check(Self.said[index].0, Self.said[index].1) }

    @Test("what an app is told is what protobuf writes", .bug(id: "K5"), arguments: answered.indices)
    func whatIsTold(_ index: Int) throws { try check(Self.answered[index].0, Self.answered[index].1) }

    @Test(
        "a relevance that is none is the nearest that is", .bug(id: "K5"),
        arguments: [-1.0, .nan, 2, .infinity])
    func relevance(_ value: Double) throws {
        var content = LocalContent()
        content.relevance = value
        var bytes: [UInt8] = []
        content.encode(into: &bytes)
        let read = try LocalContent(decoding: bytes.span).relevance
        #expect(read == (value > 1 ? 1 : 0))
    }
}
