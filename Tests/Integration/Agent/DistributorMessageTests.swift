import PostriderDBus
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The messages of the UnifiedPush distributor")
struct DistributorMessageTests {
    private let fixture: DistributorFixture

    init() throws { fixture = try DistributorFixture() }

    @Test("passes messages on one after the other, byte for byte, and each once the one before is answered")
    func order() throws {
        try fixture.register()
        try fixture.arrive(1, 2, 3)
        for number: UInt8 in 1...3 {
            #expect(fixture.caller.messages == (1...number).map { [$0, 0xFF] })
            fixture.caller.answer()
            fixture.turn()
        }
        fixture.turn()
        #expect(try fixture.waitingInInbox() == 0 && fixture.caller.open.isEmpty)
    }

    @Test("loses no message when the agent is killed, and sends none again that the app has")
    func killed() throws {
        try fixture.register()
        try fixture.arrive(1, 2)
        fixture.caller.answer()
        fixture.turn()
        #expect(fixture.caller.messages.count == 2)
        fixture.turn()
        fixture.caller.lose()
        try fixture.restart()
        fixture.caller.isUp = true
        fixture.distributor.busOpened()
        fixture.turn()
        #expect(fixture.caller.messages == [[1, 0xFF], [2, 0xFF], [2, 0xFF]])
        // The relay has not heard that it was stored, and sends it again.
        try fixture.arrive(2)
        fixture.caller.answer()
        fixture.turn()
        #expect(try fixture.caller.messages.count == 3 && fixture.waitingInInbox() == 0)
    }

    @Test("keeps messages for an app that is not there until it registers, or a minute is over")
    func absent() throws {
        try fixture.register()
        try fixture.arrive(1)
        fixture.caller.answer(.failure(DistributorFixture.absence))
        fixture.turn()
        #expect(fixture.caller.messages.count == 1)
        fixture.ask()
        fixture.caller.answer()
        fixture.turn()
        #expect(fixture.caller.messages.count == 2)
        fixture.caller.answer(.failure(DistributorFixture.absence))
        fixture.pass(milliseconds: Limits.absentConnectorMilliseconds)
        fixture.turn()
        #expect(try fixture.caller.messages.count == 3 && fixture.waitingInInbox() == 1)
        fixture.caller.answer()
        fixture.turn()
        #expect(try fixture.waitingInInbox() == 0)
    }

    @Test("keeps messages while there is no bus")
    func noBus() throws {
        try fixture.register()
        fixture.caller.isUp = false
        try fixture.arrive(1)
        #expect(fixture.caller.messages.isEmpty)
        fixture.caller.isUp = true
        fixture.distributor.busOpened()
        fixture.turn()
        #expect(fixture.caller.messages.count == 1)
    }

    @Test("counts what an app cannot handle as failed, and goes on with the next")
    func failure() throws {
        try fixture.register()
        fixture.agent.deliveries.mostAttempts = 1
        try fixture.arrive(1, 2)
        fixture.caller.answer(.failure(.timedOut))
        fixture.turn()
        fixture.turn()
        #expect(fixture.caller.messages.last == [2, 0xFF])
        let letter = try #require(try fixture.agent.state.deadLetters.entries().first)
        #expect(letter.reason == "The app org.example.App failed: no answer came over the bus.")
    }

    @Test("drops messages whose time is over before the app is there")
    func expired() throws {
        try fixture.register()
        fixture.caller.isUp = false
        try fixture.arrive(1, until: fixture.agent.clock.wallMilliseconds + 500)
        try fixture.arrive(2)
        fixture.caller.isUp = true
        fixture.pass(milliseconds: 1000)
        fixture.distributor.busOpened()
        fixture.turn()
        #expect(fixture.caller.messages == [[2, 0xFF]])
    }

    @Test("replaces messages of the same topic that wait, but for one that the app may have already")
    func topics() throws {
        try fixture.register()
        try fixture.arrive(1, collapse: "a")
        try fixture.arrive(2, 3, collapse: "a")
        try fixture.arrive(4, collapse: "b")
        for _ in 0..<3 {
            fixture.caller.answer()
            fixture.turn()
        }
        #expect(fixture.caller.messages == [[1, 0xFF], [3, 0xFF], [4, 0xFF]])
        #expect(try fixture.waitingInInbox() == 0 && fixture.caller.open.isEmpty)
    }

    @Test("asks an app of version 1, whose methods answer nothing, whether it has read the message")
    func versionOne() throws {
        try fixture.register(version: .one)
        try fixture.arrive(1, 2)
        #expect(fixture.caller.messages.count == 1 && fixture.caller.calls.last?.member == "Ping")
        // Whatever it says, it has read what came before.
        fixture.caller.answer(
            .failure(.refused(name: "org.freedesktop.DBus.Error.UnknownMethod", message: "")))
        fixture.turn()
        #expect(fixture.caller.messages == [[1, 0xFF], [2, 0xFF]])
    }
}
