import PostriderHTTP2
import PostriderSeededRandom
import Testing

extension HeaderBlockInterceptorTests {
    /// A server, with all that it reported and sent.
    final class Side {
        let handler = Recorder()
        let session: HTTP2Connection
        var sent: [UInt8] = []

        init(readsHeaderBlocks: Bool) {
            var settings = SessionSettings()
            settings.maxHeaderListBytes = 8192
            settings.readsHeaderBlocks = readsHeaderBlocks
            session = HTTP2Connection(role: .server, settings: settings, handler: handler)
            handler.onEnded = { [unowned self] in session.respond($0, ok) }
        }

        /// What the server sent. At the end of a connection, this compares the error code, but not whether the faulty
        /// stream was reset before: nghttp2 resets it as soon as it has read that far.
        var outcome: String {
            let frames = Frame.all(in: sent).filter { $0.kind != .settings || $0.flags != 0 }
            let end = frames.last { $0.kind == .goaway }.map { $0.payload[4..<8] }
            let rest = frames.filter { $0.kind != .goaway && (end == nil || $0.kind != .reset) }
            return rest.map { "\($0) \($0.payload) " }.joined() + (end.map { "end \($0.last ?? 0)" } ?? "")
        }
    }

    /// Two servers that receive the same bytes: one decodes header blocks itself, the other leaves them to nghttp2.
    struct Twins {
        let own = Side(readsHeaderBlocks: true)
        let library = Side(readsHeaderBlocks: false)

        /// Gives the bytes to both servers.
        func take(_ pieces: [[UInt8]]) {
            for side in [own, library] {
                for bytes in pieces {
                    try? side.session.receive(bytes)
                    side.sent += side.session.drained()
                }
            }
        }

        func take(_ bytes: [UInt8]) { take([bytes]) }

        /// Compares all that the two servers reported and sent. They may notice a fault in the middle of a frame at
        /// different times, therefore zeros complete an unfinished frame first.
        ///
        /// - Parameter meetsTwoFaults: whether the bytes may break the protocol twice at once. If so, nghttp2 may
        ///   report
        ///   COMPRESSION_ERROR where the other reports PROTOCOL_ERROR (``HeaderBlockInterceptorTests/twoFaults()``).
        func compare(_ note: String, meetsTwoFaults: Bool = false) {
            take([UInt8](repeating: 0, count: 20_000))
            var expected = library.outcome
            if meetsTwoFaults, expected.hasSuffix("end 9"), own.outcome.hasSuffix("end 1") {
                expected = expected.dropLast() + "1"
            }
            #expect(own.outcome == expected, "\(note)")
            #expect(own.handler.events == library.handler.events, "\(note)")
            #expect(own.handler.bodies == library.handler.bodies, "\(note)")
        }
    }

    /// Makes the frames of requests, encoded by nghttp2's client, with random fields: valid and forbidden ones.
    final class Client {
        var chance: SplitMix64
        let recorder = Recorder()
        let session: HTTP2Connection

        init(seed: UInt64) {
            chance = SplitMix64(seed: seed)
            session = HTTP2Connection(role: .client, handler: recorder)
        }

        func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: elements.indices, using: &chance)]
        }

        func request(isGood: Bool) -> HeaderBlock {
            var head = HeaderBlock()
            for (name, values) in Self.pseudoFields
            where isGood || !Int.random(in: 0..<30, using: &chance).isMultiple(of: 30) {
                head.add(name, isGood ? values[0] : pick(values))
            }
            let digits = (0..<64).map { _ in String(Int.random(in: 0..<16, using: &chance), radix: 16) }
                .joined()
            for _ in 0..<Int.random(in: 0..<12, using: &chance) {
                let name = pick(isGood ? Self.goodNames : Self.goodNames + Self.otherNames)
                let value = pick(isGood ? Self.goodValues + [digits] : Self.goodValues + Self.otherValues)
                if Bool.random(using: &chance) {
                    head.add(name, value)
                } else {
                    head.addUnindexed(name, value)
                }
            }
            return head
        }

        static let pseudoFields: [(String, [String])] = [
            (":method", ["POST", "GET", "CONNECT", "OPTIONS", "post", ""]),
            (":scheme", ["https", "http", "ftp", ""]),
            (":path", ["/3/device/00", "/", "*", "x", "/ä", ""]),
            (":authority", ["relay", "127.0.0.1:443", "[::1]", "a/b", ""]),
        ]
        static let goodNames = [
            "authorization", "apns-topic", "apns-id", "apns-expiration", "apns-priority", "user-agent",
            "cookie", "x",
        ]
        static let otherNames = [
            "host", "te", "connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection",
            "Upper",
            "content-length", ":path", ":method", ":protocol", ":other", "under_score", "spa ce", "ünïcode",
            "",
        ]
        static let goodValues = [
            "", "0", "10", "com.example.app",
            "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiJ9.", count: 11),
            "alert", String(repeating: "z", count: 700), "a, b; c=\"d\"",
        ]
        static let otherValues = [
            " before", "behind ", "tab\there", "line\nbreak", "\u{0}", "\u{7F}", "ä", "trailers", "5", "-1",
        ]
    }
}
