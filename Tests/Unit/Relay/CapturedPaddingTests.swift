import PostriderCaptures
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A capture of a padded request")
struct CapturedPaddingTests {
    @Test("has the bytes of padding of its own frames")
    func padding() throws {
        let bench = TestBench { text throws(TestBench.RuleMistake) in throw TestBench.RuleMistake(text) }
        let fixture = try ProviderFixture(bench: bench)
        let fields = Provider.shared.fields(["host": "relay", "apns-expiration": "0"])
        fixture.say(WireFrame.opening)
        let head = WireFrame.request(1, fields).dropLast(11)
        let body: [UInt8] = [4] + Array("{}".utf8) + [0, 0, 0, 0]
        fixture.say(head + WireFrame(kind: .data, flags: 9, stream: 1, payload: body).bytes)
        fixture.say(WireFrame.request(3, fields))
        let captures = bench.captures(try CaptureQuery(""))
        #expect(captures.map(\.stream.padding) == [4, 0] && captures.allSatisfy { $0.outcome == .accepted })
        #expect(captures.map(\.body) == [Array("{}".utf8), Array("{}".utf8)])
    }
}
