import PostriderNotifications

/// The server's side of one WebSocket connection after its handshake (RFC 6455) as a state machine: bytes in, text
/// messages out, and back. It takes no binary messages and knows no extension.
///
/// An idle connection holds no memory besides this value.
package struct WebSocketConnection: Sendable {
    /// What has arrived.
    package enum Event: Sendable, Equatable {
        /// A whole message, valid UTF-8.
        case text(String)
        /// The answer to a ping of ours, or an unasked one.
        case pong
        /// The client ends the connection, with this code if it gave one. The answer is in the output.
        case closed(code: UInt16?)
    }

    /// The bytes to be sent. The owner takes them.
    package var output: [UInt8] = []
    private var input: [UInt8] = []
    /// Where the bytes of the input begin that are not processed.
    private var start = 0
    /// The fragments of the message that has begun.
    private var message: [UInt8] = []
    /// The number of fragments of that message; 0 if none has begun.
    private var fragments = 0
    /// The newest ping without an answer. Only this one is answered (RFC 6455, section 5.5.3), so a client that reads
    /// nothing does not fill the output.
    private var ping: [UInt8]?
    /// Whether we have sent a close frame.
    private var hasSaidGoodbye = false
    /// Whether the client has sent a close frame, or has broken the protocol.
    private var hasEnded = false

    package init() {}

    /// Whether a message or a frame has begun and has not arrived to its end.
    package var isMidMessage: Bool { fragments > 0 || input.count > start }

    /// Whether nothing more is to be received or sent.
    package var isClosed: Bool { hasEnded && hasSaidGoodbye }

    /// Whether a close frame was sent, by us or as an answer.
    package var isClosing: Bool { hasSaidGoodbye }

    /// Takes bytes of the client. ``next()`` tells what they are.
    package mutating func receive(_ bytes: Span<UInt8>) {
        guard !hasEnded else { return }
        input.reserveCapacity(input.count + bytes.count)
        for index in bytes.indices { input.append(bytes[index]) }
    }

    /// What has arrived next; nil if nothing has.
    ///
    /// - Throws: the first violation. The close frame with its code is in the output, and the connection ends.
    package mutating func next() throws(WebSocketViolation) -> Event? {
        do throws(WebSocketViolation) {
            while !hasEnded {
                guard let frame = try takeFrame() else { return nil }
                if let event = try take(frame) { return event }
            }
            return nil
        } catch {
            close(code: error.code)
            hasEnded = true
            (input, start, message) = ([], 0, [])
            throw error
        }
    }

    private mutating func takeFrame() throws(WebSocketViolation) -> WebSocketFrame? {
        guard let (frame, end) = try WebSocketFrame.read(input[start...]) else {
            input.removeFirst(start)
            if input.isEmpty { input = [] }
            start = 0
            return nil
        }
        start = end
        return frame
    }

    private mutating func take(_ frame: WebSocketFrame) throws(WebSocketViolation) -> Event? {
        switch frame.kind {
        case .ping:
            ping = frame.payload
            return nil
        case .pong: return .pong
        case .close: return try takeClose(frame.payload)
        case .binary: throw .binary
        case .text, .continuation:
            guard (frame.kind == .continuation) == (fragments > 0) else { throw .wrongOrder }
            fragments += 1
            guard fragments <= Limits.webFragments else { throw .manyFragments }
            guard message.count + frame.payload.count <= Limits.webMessageBytes else { throw .longMessage }
            message += frame.payload
            guard frame.isFinal else { return nil }
            let text = String(validating: message, as: UTF8.self)
            (message, fragments) = ([], 0)
            guard let text else { throw .wrongText }
            return hasSaidGoodbye ? nil : .text(text)
        }
    }

    private mutating func takeClose(_ payload: [UInt8]) throws(WebSocketViolation) -> Event {
        var code: UInt16?
        if !payload.isEmpty {
            guard payload.count >= 2, case let number = UInt16(payload[0]) << 8 | UInt16(payload[1]),
                WebSocketViolation.maySend(number)
            else { throw .wrongClose }
            guard String(validating: payload[2...], as: UTF8.self) != nil else { throw .wrongText }
            code = number
        }
        close(code: code)
        hasEnded = true
        (input, start, message) = ([], 0, [])
        return .closed(code: code)
    }

    // MARK: Output

    /// Moves the output, with the answer to the last ping, to the end of `bytes`.
    package mutating func drain(into bytes: inout [UInt8]) {
        bytes += output
        output = []
        guard let ping, !hasSaidGoodbye else { return }
        WebSocketFrame.write(.pong, ping.span, to: &bytes)
        self.ping = nil
    }

    /// Whether there is something to send.
    package var wantsToSend: Bool { !output.isEmpty || ping != nil && !hasSaidGoodbye }

    /// Sends a text message, valid UTF-8. After the close frame nothing is sent.
    package mutating func send(_ text: Span<UInt8>) {
        guard !hasSaidGoodbye else { return }
        WebSocketFrame.write(.text, text, to: &output)
    }

    /// Sends a ping without content.
    package mutating func sendPing() {
        guard !hasSaidGoodbye else { return }
        WebSocketFrame.write(.ping, [UInt8]().span, to: &output)
    }

    /// Sends a close frame with this code and this reason; the client answers with its own. Only the first counts.
    ///
    /// - Parameter reason: at most 123 bytes.
    package mutating func close(code: UInt16?, _ reason: String = "") {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        ping = nil
        var payload: [UInt8] = []
        if let code { payload = [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + Array(reason.utf8) }
        precondition(payload.count <= WebSocketFrame.mostControlBytes, "the reason fits into the frame")
        WebSocketFrame.write(.close, payload.span, to: &output)
    }
}
