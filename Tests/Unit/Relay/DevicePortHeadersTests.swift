import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderRelay

@Suite("Header blocks at the port of devices")
struct DevicePortHeadersTests {
    /// nginx and HAProxy send no table size update, and nginx adds fields to the table.
    @Test("may use the usual table, without a table size update after the SETTINGS", .bug(id: "R12"))
    func table() throws {
        let fixture = try DeviceFixture()
        let session = DeviceSession(among: fixture.shard.devices)
        let wire = TestWire(session.endpoint, peer: Peer(address: "test"))
        session.endpoint.opened(on: wire)
        let first = say(WireFrame.opening, to: session, wire)
        #expect(first.first?.settings?[1] == 4096)
        _ = say(WireFrame.settingsAcknowledgement.bytes, to: session, wire)
        // Stream 1 adds `:authority: x` to the table; stream 3 refers to it as number 62.
        let known: [UInt8] = [0x83, 0x84, 0x87]
        let blocks: [[UInt8]] = [known + [0x41, 1, 0x78], known + [0xBE]]
        var answers: [WireFrame] = []
        for (stream, block) in zip([1, 3] as [UInt32], blocks) {
            answers += say(
                WireFrame(kind: .headers, flags: 5, stream: stream, payload: block).bytes, to: session, wire)
        }
        #expect(wire.closed == nil)
        #expect(answers.filter { $0.kind == .headers }.map(\.stream) == [1, 3])
        // The relay's answers need no table, because a lean link has none.
        #expect(answers.first { $0.kind == .headers }?.payload.first == 0x20)
    }

    private func say(_ bytes: [UInt8], to session: DeviceSession, _ wire: TestWire) -> [WireFrame] {
        session.endpoint.received(bytes.span)
        var sent: [UInt8] = []
        while wire.isDirty {
            wire.isDirty = false
            session.endpoint.flush(into: &sent)
        }
        return WireFrame.all(in: sent)
    }
}
