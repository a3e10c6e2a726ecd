import PostriderCourier
import PostriderNotifications
import Testing

/// Vectors like those of `GoldenTests`, for the presentation of alerts.
@Suite struct PresentationGoldenTests {
    static let said: [(AppMessage, String)] = [
        (.presentationWish(PresentationWish(topic: "a.b", decides: true)), "f201070a03612e621001"),
        (.presentationWish(PresentationWish(topic: "a.b", decides: false)), "f201050a03612e62"),
        (.presentation(Presentation(question: 300, options: [.badge, .banner])), "ea010508ac021011"),
        (.presentation(Presentation(question: 1, options: [])), "ea01020801"),
    ]
    static let asked: [(AgentMessage, String)] = [
        (
            .willPresent(WillPresent(question: 7, topic: "a.b", subject: .remote(payload: Array("{}".utf8)))),
            "f2010b08071203612e6222027b7d"
        ),
        (
            .willPresent(
                WillPresent(question: 7, topic: "a.b", subject: .local(CenterGoldenTests.notice))),
            "f2011b08071203612e621a120a090a017812001a0218001080d095ffbc31"
        ),
    ]

    @Test("what an app says is what protobuf writes", arguments: said.indices)
    func whatIsSaid(_ index: Int) throws { try check(Self.said[index].0, Self.said[index].1) }

    @Test("what an app is asked is what protobuf writes", arguments: asked.indices)
    func whatIsAsked(_ index: Int) throws { try check(Self.asked[index].0, Self.asked[index].1) }

}
