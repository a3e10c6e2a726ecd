import PostriderWeb
import Testing

@Suite("The handshake of WebSocket")
struct WebSocketUpgradeTests {
    private static let usual: [RequestHead.Field] = [
        .init("host", "server.example.com"), .init("upgrade", "WebSocket"),
        .init("connection", "keep-alive, Upgrade"), .init("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        .init("sec-websocket-version", "13"),
    ]

    private func head(
        _ more: [RequestHead.Field] = [], without name: String = "", method: String = "GET"
    ) -> RequestHead {
        RequestHead(method: method, target: "/", fields: Self.usual.filter { $0.name != name } + more)
    }

    @Test("gives the answer of the example in RFC 6455, section 1.3")
    func example() throws {
        #expect(WebSocketUpgrade.isAsked(by: head()))
        #expect(
            try WebSocketUpgrade.fields(for: head()) == [
                .init("upgrade", "websocket"), .init("connection", "Upgrade"),
                .init("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            ])
    }

    @Test("chooses a known subprotocol, no extension, and serves clients with others too")
    func subprotocols() throws {
        let offer = head([
            .init("sec-websocket-protocol", "chat, push-notification"),
            .init("sec-websocket-extensions", "permessage-deflate"),
        ])
        let fields = try WebSocketUpgrade.fields(for: offer, subprotocols: ["push-notification"])
        #expect(fields.last == .init("sec-websocket-protocol", "push-notification"))
        #expect(!fields.contains { $0.name == "sec-websocket-extensions" })
        #expect(try WebSocketUpgrade.fields(for: offer, subprotocols: ["x"]).count == 3)
    }

    @Test("is refused without its version and its key, and is not seen in other requests")
    func refusals() {
        func status(_ head: RequestHead) -> Int? {
            do throws(HTTPViolation) {
                _ = try WebSocketUpgrade.fields(for: head)
                return nil
            } catch {
                return error.status
            }
        }
        #expect(status(head(without: "sec-websocket-version")) == 426)
        #expect(status(head(without: "sec-websocket-key")) == 400)
        let short = head([.init("sec-websocket-key", "AAAA")], without: "sec-websocket-key")
        #expect(status(short) == 400)
        #expect(!WebSocketUpgrade.isAsked(by: head(without: "upgrade")))
        #expect(!WebSocketUpgrade.isAsked(by: head(without: "connection")))
        #expect(!WebSocketUpgrade.isAsked(by: head(method: "POST")))
    }
}
