import Testing

@testable import PostriderHTTP2

@Suite("A lean session and a peer that breaks the protocol")
struct LeanViolationTests {
    private static let violations: [(frames: [Frame], code: UInt8)] = [
        ([Frame(kind: .data, stream: 0)], 1),
        ([Frame(kind: .data, stream: 3)], 1),
        ([Frame(kind: .data, stream: 2)], 1),
        ([Frame(kind: .data, flags: 8, stream: 1, payload: [2, 0])], 1),
        ([Frame(kind: .data, flags: 8, stream: 1)], 1),
        ([Frame(kind: .data, flags: 1, stream: 1), Frame(kind: .data, stream: 1)], 5),
        ([Frame(kind: .headers, flags: 4, stream: 1)], 1),
        ([Frame(kind: .headers, flags: 4, stream: 2)], 1),
        ([Frame(kind: .headers, flags: 5, stream: 3), Frame(kind: .headers, flags: 5, stream: 3)], 5),
        ([Frame(kind: .headers, stream: 3), Frame(kind: .ping, payload: [0, 0, 0, 0, 0, 0, 0, 0])], 1),
        ([Frame(kind: .headers, stream: 3), Frame(kind: .continuation, stream: 5)], 1),
        ([Frame(kind: .continuation, stream: 1)], 1),
        ([Frame(kind: .push, stream: 1)], 1),
        ([Frame(kind: .headers, flags: 13, stream: 3, payload: [9, 0])], 1),
        ([Frame(kind: .headers, flags: 13, stream: 3)], 1),
        ([Frame(kind: .headers, flags: 37, stream: 3, payload: [0])], 6),
        (Self.twoEnds, 5),
        ([Frame(kind: .priority, stream: 1, payload: [0])], 6),
        ([Frame(kind: .priority, payload: [0, 0, 0, 0, 0])], 1),
        ([Frame(kind: .reset, stream: 1, payload: [0])], 6),
        ([Frame(kind: .reset, stream: 3, payload: [0, 0, 0, 0])], 1),
        ([Frame(kind: .settings, stream: 1)], 1),
        ([Frame(kind: .settings, payload: [0])], 6),
        ([Frame(kind: .settings, flags: 1)], 1),
        ([Frame(kind: .settings, flags: 1, payload: [0, 0, 0, 0, 0, 0])], 6),
        ([Frame(kind: .settings, payload: [0, 4, 128, 0, 0, 0])], 3),
        ([Frame(kind: .settings, payload: [0, 5, 0, 0, 0, 1])], 1),
        ([Frame(kind: .settings, payload: [0, 2, 0, 0, 0, 2])], 1),
        ([Frame(kind: .settings, payload: [0, 8, 0, 0, 0, 2])], 1),
        ([Frame(kind: .ping, stream: 1, payload: [0, 0, 0, 0, 0, 0, 0, 0])], 1),
        ([Frame(kind: .ping, payload: [0])], 6),
        ([Frame(kind: .goaway, payload: [0])], 6),
        ([Frame(kind: .goaway, stream: 1, payload: [0, 0, 0, 0, 0, 0, 0, 0])], 1),
        ([Frame(kind: .windowUpdate, payload: [0, 0, 0, 0])], 1),
        ([Frame(kind: .windowUpdate, payload: [127, 255, 255, 255])], 3),
        ([Frame(kind: .windowUpdate, stream: 1, payload: [127, 255, 255, 255])], 3),
        (
            [
                Frame(kind: .windowUpdate, stream: 1, payload: [127, 255, 0, 0]),
                Frame(kind: .settings, payload: [0, 4, 0, 1, 0, 0]),
            ], 3
        ),
        ([Frame(kind: .windowUpdate, stream: 3, payload: [0, 0, 0, 1])], 1),
        ([Frame(kind: .windowUpdate, payload: [0])], 6),
        ([Frame(kind: .data, stream: 1, payload: [UInt8](repeating: 0, count: 16_385))], 6),
        ([Frame(kind: .headers, stream: 3)] + Self.longBlock, 11),
        ([Frame](repeating: Frame(kind: .windowUpdate, payload: [0, 0, 0, 1]), count: 10_001), 11),
        (
            [Frame(kind: .headers, stream: 3)]
                + [Frame](repeating: Frame(kind: .continuation, stream: 3), count: 10_001), 11
        ),
        // Queued answers reach their limit long before the limit of frames without content.
        ([Frame](repeating: Frame(kind: .ping, payload: [0, 0, 0, 0, 0, 0, 0, 0]), count: 3_000), 11),
    ]

    /// A refused stream, its trailers, which were already sent, and trailers again.
    private static let twoEnds =
        [Frame(kind: .headers, flags: 4, stream: 3)]
        + [Frame](repeating: Frame(kind: .headers, flags: 5, stream: 3), count: 2)

    private static let longBlock = [Frame](
        repeating: Frame(kind: .continuation, stream: 3, payload: [UInt8](repeating: 0, count: 16_384)),
        count: 5)

    @Test("ends for a peer that breaks the protocol, and says why", arguments: violations.indices)
    func violation(_ index: Int) throws {
        let (frames, code) = Self.violations[index]
        let call = try LongCall()
        let answers = call.answer(to: frames)
        let goaway = try #require(answers.last { $0.kind == .goaway }, "\(frames.prefix(3))")
        #expect(
            goaway.payload[..<8] == [0, 0, 0, 1, 0, 0, 0, code], "\(frames.prefix(3)): \(goaway.payload)")
        #expect(throws: SessionError.self) { try call.pair.server.receive(Frame(kind: .settings).bytes) }
        call.pair.server.end()
        #expect(call.pair.atServer.closings.count <= 1 && call.pair.server.streamCount == 0)
    }
}
