import PostriderEndpoints
import PostriderHTTP2
import Testing

@testable import PostriderTransport

@Suite struct HTTP2HandlerTests {
    private let owner = Owner()

    /// Limits with short times, for tests of about a second.
    private static var hasty: ConnectionLimits {
        var limits = ConnectionLimits.server
        limits.lookMilliseconds = 3
        return limits
    }

    @Test(
        "A peer that stalls is told so by GOAWAY, and loses the connection",
        arguments: [
            ([], "no connection preface within 5 seconds", ErrorCode.protocolError),
            (
                ScriptedPeer.preface + ScriptedPeer.frame(4), "SETTINGS not acknowledged within 10 seconds",
                ErrorCode.settingsTimeout
            ),
            (
                ScriptedPeer.opening + ScriptedPeer.request(0, flags: 1),
                "a header block without end after 10 seconds", ErrorCode.protocolError
            ),
        ])
    func stalling(bytes: [UInt8], sentence: String, errorCode: UInt32) throws {
        let fixture = try EndpointFixture([owner], limits: Self.hasty)
        let peer = fixture.peer(saying: bytes)
        fixture.turn { peer.reason != nil && owner.reason != nil }
        #expect(owner.reason == .stalled(sentence))
        #expect(peer.goaway?.text == sentence)
        #expect(peer.goaway?.errorCode == errorCode)
        #expect(owner.heads == 0)
    }

    @Test("A stalled body costs its stream; the connection and its other streams go on")
    func stalledBody() throws {
        let fixture = try EndpointFixture([owner], limits: Self.hasty)
        let peer = fixture.peer(
            saying: ScriptedPeer.opening + ScriptedPeer.request(0, flags: 4) + ScriptedPeer.request(1))
        let reset = ScriptedPeer.frame(3, 0, 1, [0, 0, 0, 8])
        fixture.turn { peer.input.suffix(reset.count).elementsEqual(reset) }
        peer.say(ScriptedPeer.request(2))
        fixture.turn { owner.heads == 3 && owner.endpoint.streams.streamCount == 0 }
        #expect(owner.reason == nil)
    }

    @Test("A connection on which nothing is owed has no timer")
    func idle() throws {
        let fixture = try EndpointFixture([owner], limits: Self.hasty)
        let peer = fixture.peer(saying: ScriptedPeer.opening)
        fixture.turn { owner.endpoint.wire != nil && !owner.endpoint.isKeptWaiting }
        let connection = try #require(owner.endpoint.wire as? Connection)
        fixture.turn { connection.watch == nil }
        peer.say(ScriptedPeer.request(0, flags: 4))
        fixture.turn { owner.heads == 1 }
        #expect(connection.watch?.isArmed == true)
        peer.say(ScriptedPeer.frame(0, 1, 1, [1]))
        fixture.turn { connection.watch == nil }
        #expect(owner.reason == nil)
    }

    @Test("A peer for which more waits than is kept is cut")
    func outputNotTaken() throws {
        let fixture = try EndpointFixture([owner], limits: .server)
        owner.onHead = { [owner] stream in
            owner.endpoint.streams.openResponse(stream, [":status": "200"])
            for _ in 0..<17 {
                owner.endpoint.streams.send(stream, [UInt8](repeating: 0, count: 65_536).span)
            }
        }
        let peer = fixture.peer(saying: ScriptedPeer.opening + ScriptedPeer.request(0, flags: 4))
        fixture.turn { owner.reason != nil && peer.reason != nil }
        #expect(owner.reason == .outputNotTaken)
    }

    @Test("A greedy connection gets its share of each turn, and the others are served in the same turns")
    func fairness() throws {
        var limits = ConnectionLimits.server
        limits.requestsPerTurn = 20
        limits.bytesPerRead = 10 * ScriptedPeer.request(0).count
        limits.readsPerTurn = 1000
        let (greedy, modest) = (Owner(), Owner())
        greedy.answers = false
        let fixture = try EndpointFixture([greedy, modest], limits: limits)
        let first = fixture.peer(saying: ScriptedPeer.opening)
        fixture.turn { greedy.endpoint.wire != nil && !greedy.endpoint.isKeptWaiting }
        let second = fixture.peer(saying: ScriptedPeer.opening)
        fixture.turn { modest.endpoint.wire != nil && !modest.endpoint.isKeptWaiting }

        first.say((0..<1000).flatMap { ScriptedPeer.request($0) })
        second.say(ScriptedPeer.request(0))
        fixture.turn { modest.heads == 1 }
        #expect(greedy.heads <= 40)
        var (most, said) = (0, 1)
        while greedy.heads < 1000 {
            let before = greedy.heads
            second.say(ScriptedPeer.request(said))
            said += 1
            fixture.loop.turn()
            most = max(most, greedy.heads - before)
        }
        #expect(most == 20)
        #expect(said > 45 && modest.heads >= said - 2, "a request is served in the turn after it was made")
        #expect(greedy.reason == nil)
    }
}
