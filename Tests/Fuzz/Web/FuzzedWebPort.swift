import PostriderNotifications
import PostriderWeb

/// The web port: HTTP/1.1 and WebSocket on one connection.
///
/// The first byte says what is spoken (bit 0: WebSocket, or HTTP/1.1) and the size of the pieces (the rest); the other
/// bytes are the client's.
enum FuzzedWebPort {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let mode = input.first else { return }
        let bytes = Array(input.dropFirst())
        let size = Int(mode >> 1) + 1
        if mode & 1 == 0 {
            let (whole, pieces) = (try requests(bytes, pieces: .max), try requests(bytes, pieces: size))
            try hold(whole == pieces, "pieces of \(size) bytes are other requests")
        } else {
            let (whole, pieces) = (try messages(bytes, pieces: .max), try messages(bytes, pieces: size))
            try hold(whole == pieces, "pieces of \(size) bytes are other messages")
        }
    }

    private struct Requests: Equatable {
        var requests: [WebRequest] = []
        var violation: HTTPViolation?
    }

    private static func requests(_ bytes: [UInt8], pieces size: Int) throws(Contradiction) -> Requests {
        var connection = HTTP1Connection()
        var outcome = Requests()
        for piece in cut(bytes, size) {
            connection.receive(piece.span)
            do throws(HTTPViolation) {
                while let request = try connection.next() {
                    outcome.requests.append(request)
                    connection.answer(WebResponse(status: 201, fields: [.init("location", "/m/1")]))
                }
            } catch {
                outcome.violation = error
            }
            connection.output = []
        }
        for request in outcome.requests {
            try hold(request.body.count <= Limits.webPushBytes + 1, "more of a body is kept than need be")
            try hold(request.head.fields.count <= Limits.webHeadFields, "a head has too many fields")
            let isClean = request.head.fields.allSatisfy { field in
                (field.name + field.value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            }
            try hold(isClean, "a field contains control characters")
            try hold(
                request.head.target.hasPrefix("/") || request.head.target == "*", "a target is no path")
        }
        if outcome.violation != nil {
            try hold(connection.isClosed, "a violation leaves the connection open")
        }
        return outcome
    }

    private struct Messages: Equatable {
        var events: [WebSocketConnection.Event] = []
        var violation: WebSocketViolation?
        var isClosed = false
    }

    private static func messages(_ bytes: [UInt8], pieces size: Int) throws(Contradiction) -> Messages {
        var connection = WebSocketConnection()
        var outcome = Messages()
        var output: [UInt8] = []
        for piece in cut(bytes, size) {
            connection.receive(piece.span)
            do throws(WebSocketViolation) {
                while let event = try connection.next() { outcome.events.append(event) }
            } catch {
                outcome.violation = error
            }
        }
        connection.drain(into: &output)
        try hold(output.count <= 2 * 127, "much is answered that was not asked")
        for case .text(let text) in outcome.events {
            try hold(text.utf8.count <= Limits.webMessageBytes, "a message is too large")
        }
        if outcome.violation != nil {
            try hold(connection.isClosed, "a violation leaves the connection open")
        }
        outcome.isClosed = connection.isClosed
        return outcome
    }

    private static func cut(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
        guard size < bytes.count else { return [bytes] }
        return stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min($0 + size, bytes.count)])
        }
    }
}
