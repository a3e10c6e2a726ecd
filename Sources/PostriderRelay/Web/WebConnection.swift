import PostriderEndpoints
import PostriderTransport

/// One connection to the web port. ALPN decides whether it speaks HTTP/2 or HTTP/1.1, and a connection of HTTP/1.1 may
/// become a WebSocket; the handler of the protocol does everything else.
final class WebConnection: ConnectionHandler {
    private unowned let port: WebPort
    private var handler: (any ConnectionHandler)?

    init(on port: WebPort) { self.port = port }

    /// The browser's session, if this is a WebSocket.
    var session: WebDeviceSession? { (handler as? BrowserSocket)?.session }

    func opened(on wire: any ConnectionOutput) {
        if wire.peer.negotiatedProtocol == "h2" {
            handler = WebHTTP2Session(on: port).endpoint
        } else {
            handler = WebHTTP1Handler(on: port) { [unowned self] socket, rest in
                handler = socket
                socket.opened(on: wire)
                socket.received(rest.span)
            }
        }
        handler?.opened(on: wire)
    }

    func received(_ bytes: Span<UInt8>) { handler?.received(bytes) }
    func inputEnded() { handler?.inputEnded() }
    func flush(into output: inout [UInt8]) { handler?.flush(into: &output) }
    var isKeptWaiting: Bool { handler?.isKeptWaiting ?? false }
    func look() { handler?.look() }
    var requestsReceived: Int { handler?.requestsReceived ?? 0 }

    func closed(_ reason: CloseReason) {
        guard let handler else { return port.context.webEnds.note(reason, of: nil) }
        handler.closed(reason)
        self.handler = nil
    }
}
