import PostriderHTTP2
import Testing

@Suite("The padding of a client's frames")
struct PaddingCounterTests {
    private static func padded(
        _ kind: Frame.Kind, _ flags: UInt8, _ stream: UInt32, _ count: UInt8
    ) -> [UInt8] {
        let payload = [count, 0x78, 0x79] + [UInt8](repeating: 0x08, count: Int(count))
        return Frame(kind: kind, flags: flags | 8, stream: stream, payload: payload).bytes
    }

    /// Streams 1 and 3 have padding; PING has no such flag, and no frame of stream 5 has a byte of padding.
    private static let bytes =
        Frame.opening + padded(.headers, 4, 1, 7) + padded(.data, 0, 3, 200) + padded(.ping, 0, 0, 5)
        + padded(.data, 1, 1, 255) + padded(.data, 1, 5, 0)
        + Frame(kind: .data, flags: 8, stream: 5, payload: []).bytes
        + Frame(kind: .data, flags: 1, stream: 5, payload: [9, 9]).bytes + padded(.data, 1, 3, 1)

    @Test(
        "is counted by stream, in whatever pieces the bytes arrive",
        arguments: [1, 2, 9, 10, 11, 64, 10_000])
    func pieces(_ size: Int) {
        var counter = PaddingCounter()
        for start in stride(from: 0, to: Self.bytes.count, by: size) {
            let piece = Array(Self.bytes[start..<min(start + size, Self.bytes.count)])
            counter.receive(piece.span)
        }
        #expect([1, 3, 5, 7].map { counter.take($0) } == [262, 201, 0, 0])
        #expect(counter.take(1) == 0)
    }

    @Test("is forgotten when a client pads frames of very many streams")
    func bound() {
        var counter = PaddingCounter()
        var bytes = Frame.opening
        for number in UInt32(0)..<5000 { bytes += Self.padded(.data, 0, number * 2 + 1, 1) }
        counter.receive(bytes.span)
        let remembered = (0..<5000).reduce(0) { $0 + counter.take(Int32($1) * 2 + 1) }
        #expect(remembered == 5000 - 4096)
    }
}
