import PostriderHTTP2
import PostriderSeededRandom
import Testing

/// A server that decodes header blocks itself must behave like one whose nghttp2 decodes them.
@Suite struct HeaderBlockInterceptorTests {
    @Test(
        "Requests with all sorts of fields are to a server that reads them what they are to the library",
        arguments: 1...40)
    func sameRequests(seed: UInt64) throws {
        let (twins, client) = (Twins(), Client(seed: seed))
        twins.take(client.session.drained())
        for _ in 0..<60 where !twins.own.session.isFinished {
            let isGood = client.chance.next() % 3 != 0
            let head = client.request(isGood: isGood)
            let body = Bool.random(using: &client.chance) ? [UInt8]("hello".utf8) : nil
            _ = try client.session.request(head, body: body)
            var rest = client.session.drained()[...]
            var pieces: [[UInt8]] = []
            while !rest.isEmpty {
                let step = Int.random(in: 1...400, using: &client.chance)
                pieces.append(Array(rest.prefix(step)))
                rest = rest.dropFirst(step)
            }
            twins.take(pieces)
        }
        twins.compare("seed \(seed)")
        #expect(twins.own.handler.events.contains { $0.hasPrefix("head") })
    }

    @Test("Bytes that were changed at random mean the same to both", arguments: 1...150)
    func sameViolations(seed: UInt64) throws {
        let (twins, client) = (Twins(), Client(seed: seed))
        twins.take(client.session.drained())
        for round in 0..<20 where !twins.own.session.isFinished {
            _ = try client.session.request(client.request(isGood: true), body: [1, 2, 3])
            var bytes = client.session.drained()
            if round > 2 {
                let place = Int.random(in: bytes.indices, using: &client.chance)
                bytes[place] = UInt8.random(in: .min ... .max, using: &client.chance)
            }
            twins.take(bytes)
        }
        twins.compare("seed \(seed)", meetsTwoFaults: true)
    }

    // Not byte by byte: this nghttp2 counts every piece of a CONTINUATION frame's head as another frame.
    @Test(
        "Frames around blocks mean the same to both, whole or in pieces",
        arguments: [
            // Padding, and too much padding; priority, and one that is cut off, and one that depends on itself.
            [Frame(kind: .headers, flags: 0xD, stream: 1, payload: [2] + Frame.postBlock + [0, 0])],
            [Frame(kind: .headers, flags: 0xD, stream: 1, payload: [9] + Frame.postBlock)],
            [Frame(kind: .headers, flags: 0xD, stream: 1, payload: [])],
            [Frame(kind: .headers, flags: 0x25, stream: 1, payload: [0, 0, 0, 3, 7] + Frame.postBlock)],
            [Frame(kind: .headers, flags: 0x25, stream: 1, payload: [0, 0, 0, 1, 7] + Frame.postBlock)],
            [Frame(kind: .headers, flags: 0x25, stream: 1, payload: [0, 0, 0])],
            // A block in several frames; one without its end; one that another frame interrupts.
            [
                Frame(kind: .headers, flags: 1, stream: 1, payload: [0x83]),
                Frame(kind: .continuation, stream: 1, payload: []),
                Frame(kind: .continuation, flags: 4, stream: 1, payload: Array(Frame.postBlock.dropFirst())),
                Frame(kind: .headers, flags: 5, stream: 3, payload: Frame.postBlock),
            ],
            [
                Frame(kind: .headers, flags: 1, stream: 1, payload: Frame.postBlock),
                Frame(kind: .data, stream: 1),
            ],
            [
                Frame(kind: .headers, flags: 1, stream: 1, payload: Frame.postBlock),
                Frame(kind: .continuation, flags: 4, stream: 3, payload: []),
            ],
            [
                Frame(kind: .headers, flags: 1, stream: 1, payload: Frame.postBlock),
                Frame(kind: .headers, flags: 5, stream: 3),
            ],
            // Invalid stream numbers, trailers, and a block on a closed stream.
            [Frame(kind: .headers, flags: 5, stream: 0, payload: Frame.postBlock)],
            [Frame(kind: .headers, flags: 5, stream: 2, payload: Frame.postBlock)],
            [
                Frame(kind: .headers, flags: 4, stream: 1, payload: Frame.postBlock),
                Frame(kind: .headers, flags: 5, stream: 1, payload: [0x00, 0x01, 0x61, 0x01, 0x62]),
            ],
            [
                Frame(kind: .headers, flags: 4, stream: 1, payload: Frame.postBlock),
                Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock),
            ],
            [
                Frame(kind: .headers, flags: 4, stream: 3, payload: Frame.postBlock),
                Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock),
            ],
            [
                Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock),
                Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock),
            ],
            // Numbers and strings that do not end or are too large, and bits that are no Huffman code.
            [Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock + [0x00, 0x05, 0x61])],
            [Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock + [0xBE])],
            [Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock + [0x80])],
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1,
                    payload: Frame.postBlock + [0x00, 0x81, 0x1F, 0x81, 0x00])
            ],
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1,
                    payload: Frame.postBlock + [0x00, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])
            ],
            // The size of the table: a valid one, one that is too large, and one at a wrong place.
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1, payload: [0x20, 0x3F, 0xE1, 0x1F] + Frame.postBlock)
            ],
            [Frame(kind: .headers, flags: 5, stream: 1, payload: [0x3F, 0xE2, 0x1F] + Frame.postBlock)],
            // Numbers with more bytes than necessary: five after the first are accepted, six are not.
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1,
                    payload: [0x3F, 0x81, 0x80, 0x80, 0x80, 0x00] + Frame.postBlock)
            ],
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1,
                    payload: [0x3F, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00] + Frame.postBlock)
            ],
            [
                Frame(
                    kind: .headers, flags: 5, stream: 1,
                    payload: Frame.postBlock + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
            ],
            [Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock + [0x20])],
            // A frame that is larger than the limit: alone, and in the middle of a block.
            [
                Frame(kind: .headers, flags: 1, stream: 1, payload: Frame.postBlock),
                Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 16_385)),
            ],
            [Frame(kind: .headers, flags: 5, stream: 1, payload: [UInt8](repeating: 0x83, count: 16_385))],
        ])
    func sameFrames(frames: [Frame]) {
        let bytes = Frame.opening + frames.flatMap(\.bytes)
        let whole = Twins()
        whole.take(bytes)
        whole.compare("whole")
        let parts = Twins()
        parts.take(
            stride(from: 0, to: bytes.count, by: 7).map { Array(bytes[$0..<min($0 + 7, bytes.count)]) })
        parts.compare("in pieces")
    }

    /// nghttp2 decodes a block frame by frame, the interceptor when it is complete. A peer that breaks the protocol
    /// twice at once gets the error code of one of the two faults, and loses the connection either way.
    @Test(
        "Of a block that cannot be decoded and does not end either, the interceptor says that it does not end"
    )
    func twoFaults() {
        let twins = Twins()
        twins.take(
            Frame.opening + Frame(kind: .headers, flags: 1, stream: 1, payload: [0x80]).bytes
                + Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)).bytes)
        #expect(twins.own.outcome.hasSuffix("end \(ErrorCode.protocolError)"))
        #expect(twins.library.outcome.hasSuffix("end 9"), "COMPRESSION_ERROR")
        #expect(twins.own.handler.events == twins.library.handler.events)
    }

    @Test(
        "The youngest fields are known by their numbers, and the oldest forgotten"
    )
    func eviction() {
        // A table of 256 bytes: three entries fit; the next ones evict the oldest.
        let twins = Twins()
        twins.take(Frame.opening)
        let resize: [UInt8] = [0x3F, 0xE1, 0x01]
        var stream: UInt32 = 1
        for number in 0..<40 {
            let value = Array("value-\(number)-".utf8) + [UInt8](repeating: 0x76, count: number % 9)
            let field = [0x40, 0x01, 0x61 + UInt8(number % 26), UInt8(value.count)] + value
            let known: [UInt8] = number < 3 ? [0xBE] : [0xBE, 0xBF, 0xC0]
            let block = (number == 0 ? resize : []) + Frame.postBlock + field + known
            twins.take(Frame(kind: .headers, flags: 5, stream: stream, payload: block).bytes)
            stream += 2
        }
        twins.compare("fields that come and go")
        #expect(twins.own.handler.events.last { $0.hasPrefix("head") }?.contains("value-37-") == true)
    }

    @Test("What a table of the usual size pushes out and moves is still told right", arguments: [1, 5])
    func longLife(fieldBytes: Int) {
        let twins = Twins()
        twins.take(Frame.opening)
        for number in 0..<600 {
            let value = Array("\(number)".utf8) + [UInt8](repeating: 0x76, count: fieldBytes * 20)
            let block = Frame.postBlock + [0x40, 0x01, 0x61, UInt8(value.count)] + value + [0xBE, 0xC1]
            let isKnown = number > 3
            let payload = isKnown ? block : Array(block.dropLast())
            let stream = UInt32(2 * number + 1)
            twins.take(Frame(kind: .headers, flags: 5, stream: stream, payload: payload).bytes)
        }
        twins.compare("many fields")
        #expect(twins.own.handler.events.count { $0.hasPrefix("head") } == 600)
    }
}
