import PostriderHTTP2
import PostriderSeededRandom
import Testing

/// A field that is repeated byte for byte is not decoded again, which must not change any result.
@Suite struct HeldFieldTests {
    private typealias Twins = HeaderBlockInterceptorTests.Twins
    private typealias Client = HeaderBlockInterceptorTests.Client

    @Test("What comes again is told again, and what was changed in between as it is now", arguments: 1...20)
    func repeats(seed: UInt64) throws {
        let (twins, client) = (Twins(), Client(seed: seed))
        twins.take(client.session.drained())
        var token = 0
        for number in 0..<80 {
            if client.chance.next() % 8 == 0 { token += 1 }
            var head: HeaderBlock = [":method": "POST", ":scheme": "https", ":authority": "relay"]
            head.addUnindexed(":path", "/3/device/" + client.pick(["", "0", "00"]) + "\(number)")
            if client.chance.next() % 3 == 0 { head.addUnindexed("apns-id", "\(number)") }
            head.addUnindexed("authorization", "bearer \(token)")
            head.add("apns-topic", client.pick(["a", "b"]))
            head.add("apns-priority", "10")
            if client.chance.next() % 6 == 0 { head.add("x", "\(number)") }
            _ = try client.session.request(head, body: [1, 2, 3])
            twins.take(client.session.drained())
        }
        twins.compare("seed \(seed)")
        #expect(twins.own.handler.events.count { $0.hasPrefix("head") } == 80)
    }

    @Test("The same bytes say something else when the table has changed")
    func sameBytes() {
        let twins = Twins()
        twins.take(Frame.opening)
        let spelled: [UInt8] = [0x00, 0x01, 0x79, 0x01, 0x31]
        var stream: UInt32 = 1
        for value in 0x30..<0x36 as Range<UInt8> {
            let new: [UInt8] = [0x40, 1, 0x61, 1, value]
            let again = Frame.postBlock + spelled + [0xBE, 0xBE]
            for block in [Frame.postBlock + new, again, again, [0x3F, 0xE1, 0x1F] + again, again] {
                twins.take(Frame(kind: .headers, flags: 5, stream: stream, payload: block).bytes)
                stream += 2
            }
        }
        twins.compare("a number that stands for another field each time")
        #expect(twins.own.handler.events.count { $0.hasPrefix("head") } == 30)
    }
}
