import FoundationEssentials
import PostriderCrypto

/// The handshake of WebSocket on the server's side (RFC 6455, section 4.2).
package enum WebSocketUpgrade {
    /// Whether a request asks for WebSocket.
    package static func isAsked(by head: RequestHead) -> Bool {
        head.method == "GET" && head.lists("websocket", in: "upgrade")
            && head.lists("upgrade", in: "connection")
    }

    /// The fields of the answer 101; no extension is agreed on, so nothing is compressed.
    ///
    /// - Parameter subprotocols: those that this server knows, the preferred one first. A client that offers only
    ///   others is served without one.
    /// - Throws: why the handshake fails, with the status of the answer.
    package static func fields(
        for head: RequestHead, subprotocols: [String] = []
    ) throws(HTTPViolation) -> [RequestHead.Field] {
        guard head["sec-websocket-version"] == "13" else {
            throw HTTPViolation(426, "This port speaks version 13 of WebSocket.")
        }
        guard !head.isOfHTTP10, let key = head["sec-websocket-key"],
            Data(base64Encoded: key)?.count == 16
        else { throw HTTPViolation(400, "The handshake of WebSocket is malformed.") }
        let digest = SHA1.digest(Array((key + guid).utf8).span)
        var fields = [
            RequestHead.Field("upgrade", "websocket"), RequestHead.Field("connection", "Upgrade"),
            RequestHead.Field("sec-websocket-accept", Data(digest).base64EncodedString()),
        ]
        let chosen = subprotocols.first { head.lists($0, in: "sec-websocket-protocol") }
        if let chosen { fields.append(.init("sec-websocket-protocol", chosen)) }
        return fields
    }

    /// The text that RFC 6455, section 1.3, appends to the client's key.
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
}
