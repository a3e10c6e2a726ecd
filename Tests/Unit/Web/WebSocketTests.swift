import PostriderNotifications
import PostriderWeb
import Testing

@Suite("A WebSocket connection")
struct WebSocketTests {
    /// A masked frame of a client. The first byte has the opcode and the bits before it.
    private static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        var bytes = [first]
        switch payload.count {
        case ..<126: bytes.append(0x80 | UInt8(payload.count))
        case ..<65_536: bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [0x80 | 127, 0, 0, 0, 0, 0, UInt8(payload.count >> 16), 0, 0]
        }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private static func text(_ text: String) -> [UInt8] { frame(0x81, Array(text.utf8)) }

    private struct Talk {
        var connection = WebSocketConnection()
        var events: [WebSocketConnection.Event] = []
        var violation: WebSocketViolation?

        init(_ bytes: [UInt8], pieces size: Int = .max) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(size))
                rest = rest.dropFirst(piece.count)
                connection.receive(piece.span)
                do throws(WebSocketViolation) {
                    while let event = try connection.next() { events.append(event) }
                } catch {
                    violation = error
                }
            }
        }

        var output: [UInt8] {
            var copy = connection
            var bytes: [UInt8] = []
            copy.drain(into: &bytes)
            return bytes
        }
    }

    @Test("takes the example of RFC 6455, section 5.7")
    func example() {
        let bytes: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(Talk(bytes).events == [.text("Hello")])
        var connection = WebSocketConnection()
        connection.send(Array("Hello".utf8).span)
        #expect(connection.output == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    }

    @Test("joins fragments, with pings between them, however they arrive", arguments: [1, 2, 5, 200, .max])
    func fragments(_ size: Int) {
        let long = String(repeating: "ü", count: 300)
        let bytes =
            Self.frame(0x01, Array(long.utf8.prefix(301))) + Self.frame(0x89, [7])
            + Self.frame(0x80, Array(long.utf8.dropFirst(301))) + Self.text("") + Self.frame(0x8A, [])
        let talk = Talk(bytes, pieces: size)
        #expect(talk.events == [.text(long), .text(""), .pong])
        #expect(talk.output == [0x8A, 1, 7])
        #expect(!talk.connection.isMidMessage)
    }

    @Test("answers only the newest of many pings, so that they do not fill the memory")
    func pings() {
        let talk = Talk((0..<100).flatMap { Self.frame(0x89, [$0]) })
        #expect(talk.output == [0x8A, 1, 99])
    }

    @Test("answers a close frame with its code, and then neither takes nor sends anything")
    func close() {
        var talk = Talk(Self.frame(0x88, [0x03, 0xE9] + Array("bye".utf8)) + Self.text("more"))
        #expect(talk.events == [.closed(code: 1001)])
        talk.connection.send(Array("more".utf8).span)
        #expect(talk.output == [0x88, 2, 0x03, 0xE9])
        #expect(talk.connection.isClosed)
        #expect(Talk(Self.frame(0x88, [])).output == [0x88, 0])
    }

    @Test("closes with a reason, and waits for the client's close frame")
    func ownClose() throws {
        var connection = WebSocketConnection()
        connection.close(code: 4774, "ack")
        connection.close(code: 1000)
        #expect(connection.output == [0x88, 5, 0x12, 0xA6] + Array("ack".utf8))
        #expect(connection.isClosing && !connection.isClosed)
        connection.receive((Self.text("late") + Self.frame(0x88, [0x12, 0xA6])).span)
        #expect(try connection.next() == .closed(code: 4774))
        #expect(connection.isClosed)
    }

    @Test("sends long messages in the right form")
    func longMessages() {
        var connection = WebSocketConnection()
        connection.send([UInt8](repeating: 0x61, count: 300).span)
        #expect(connection.output.prefix(4) == [0x81, 126, 1, 44] && connection.output.count == 304)
        connection.output = []
        connection.send([UInt8](repeating: 0x61, count: 65_536).span)
        #expect(connection.output.prefix(10) == [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0])
    }

    static let violations: [(String, [UInt8], UInt16)] = [
        ("not masked", [0x81, 0x00], 1002),
        ("compressed", frame(0xC1, [1]), 1002),
        ("an unknown opcode", frame(0x83, []), 1002),
        ("an unknown control frame", frame(0x8B, []), 1002),
        ("a long ping", frame(0x89, [UInt8](repeating: 0, count: 126)), 1002),
        ("a fragmented ping", frame(0x09, []), 1002),
        ("a length that is longer than it need be", [0x81, 0xFE, 0, 125], 1002),
        ("a huge length", [0x81, 0xFF, 0x80, 0, 0, 0, 0, 1, 0, 0], 1002),
        ("binary", frame(0x82, [1]), 1003),
        ("the continuation of nothing", frame(0x80, [1]), 1002),
        ("a message within another one", frame(0x01, [0x61]) + frame(0x81, [0x61]), 1002),
        ("text that is not UTF-8", frame(0x81, [0xFF]), 1007),
        ("a large message", [0x81, 0xFE, 0x40, 0x01], 1009),
        (
            "a large message in fragments",
            frame(0x01, [UInt8](repeating: 0x61, count: 16_384)) + frame(0, [0x61]), 1009
        ),
        ("fragments without end", (0..<100).flatMap { frame($0 == 0 ? 0x01 : 0x00, []) }, 1008),
        ("half a close code", frame(0x88, [3]), 1002),
        ("a close code that is not sent", frame(0x88, [0x03, 0xED]), 1002),
        ("a close reason that is not UTF-8", frame(0x88, [0x03, 0xE8, 0xFF]), 1007),
    ]

    @Test("closes with the code of RFC 6455 what breaks its rules", arguments: violations.indices, [1, .max])
    func violation(_ index: Int, _ size: Int) {
        let (name, bytes, code) = Self.violations[index]
        let talk = Talk(bytes + Self.text("more"), pieces: size)
        #expect(talk.violation?.code == code, "\(name)")
        #expect(talk.events.isEmpty, "\(name)")
        #expect(talk.output == [0x88, 2, UInt8(code >> 8), UInt8(code & 0xFF)], "\(name)")
        #expect(talk.connection.isClosed, "\(name)")
    }
}
