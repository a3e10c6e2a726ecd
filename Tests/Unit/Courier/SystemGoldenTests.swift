import PostriderCourier
import PostriderNotifications
import Testing

/// Vectors like those of `GoldenTests`, for what apps are told about the device and its keyboard.
@Suite struct SystemGoldenTests {
    static let keyboard = AgentMessage.system(
        .keyboard(
            KeyboardChange(
                phase: .willChangeFrame, begin: KeyboardFrame(x: 0, y: 800, width: 1280, height: 300),
                end: KeyboardFrame(x: 0, y: -1, width: 1280, height: 300), durationMilliseconds: 250,
                curve: .linear)))
    static let link = AgentMessage.system(
        .link(
            LinkChange(
                phase: .didDisconnect, relay: "r:1", reason: "gone",
                nextAttemptAt: Moment(milliseconds: 1_700_000_000_000))))
    static let order = KeyboardOrder(
        frame: KeyboardFrame(x: 0, y: 0, width: 1, height: 2), durationMilliseconds: 1, curve: .easeIn)

    @Test("what happens to the device is written as protobuf writes it")
    func events() throws {
        try check(Self.link, "a201160a1408041203723a311a04676f6e652080d095ffbc31")
        try check(
            AgentMessage.system(.link(LinkChange(phase: .willConnect, relay: "r:1"))),
            "a201090a0708011203723a31")
        try check(
            AgentMessage.system(.power(PowerChange(phase: .willSleep, sleep: 300))), "a201071205080110ac02")
        try check(
            AgentMessage.system(.clock(ClockChange(shiftMilliseconds: -1000))),
            "a2010d1a0b0898f8ffffffffffffff01")
        try check(
            AgentMessage.system(.clock(ClockChange(timeZone: "Asia/Tokyo"))),
            "a2010e1a0c120a417369612f546f6b796f")
        try check(
            Self.keyboard,
            "a2012722250805120910a00618800a20ac021a1110ffffffffffffffffff0118800a20ac0220fa012803")
        try check(AppMessage.ready(sleep: 300), "a2010308ac02")
    }

    @Test("what an input method orders is written as protobuf writes it")
    func orders() throws {
        try check(Self.order, "0a041801200210011801")
        try check(KeyboardOrder(frame: nil), "")
        try check(KeyboardAnswer(isChange: true), "0801")
        try check(KeyboardAnswer(isChange: false), "")
    }

    @Test("an event of a later version is passed over")
    func later() throws {
        let bytes = try #require(Hexadecimal.bytes("a201032a0108"))
        #expect(try AgentMessage(decoding: bytes.span) == .system(.unknown))
    }

}
