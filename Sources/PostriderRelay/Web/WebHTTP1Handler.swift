import PostriderNotifications
import PostriderTransport
import PostriderWeb

/// HTTP/1.1 on one connection to the web port: senders' requests, one after the other, or the handshake of a WebSocket.
final class WebHTTP1Handler: ConnectionHandler, WebSender {
    let number: UInt64
    private unowned let port: WebPort
    private var http = HTTP1Connection()
    private var wire: (any ConnectionOutput)?
    /// Replaces this handler by a browser's WebSocket, with the bytes that have arrived for that.
    private let becomeWebSocket: (BrowserSocket, _ rest: [UInt8]) -> Void
    private(set) var requestsReceived = 0
    /// Seconds since the request began, or since the connection is idle.
    private var waitedSeconds = 0
    private var wasMidRequest = false
    private var isPaused = false
    private var isDraining = false
    private var hasUpgraded = false
    private var isProcessing = false

    init(
        on port: WebPort, becomeWebSocket: @escaping (BrowserSocket, _ rest: [UInt8]) -> Void
    ) {
        number = port.context.drawNumber()
        self.port = port
        self.becomeWebSocket = becomeWebSocket
    }

    // MARK: ConnectionHandler

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        port.routes.add(self)
    }

    func received(_ bytes: Span<UInt8>) {
        http.receive(bytes)
        process()
    }

    private func process() {
        isProcessing = true
        defer { isProcessing = false }
        do throws(HTTPViolation) {
            while let request = try http.next() {
                requestsReceived += 1
                guard WebSocketUpgrade.isAsked(by: request.head) else {
                    // Each request has a number of its own: the home may still report about one that was refused when
                    // the next one waits for its answer.
                    port.routes.take(request, from: self, on: Int32(truncatingIfNeeded: requestsReceived))
                    continue
                }
                if upgrade(request.head) { return }
            }
        } catch {
            wire?.close(.protocolError(error.description, name: "HTTP \(error.status)"))
        }
        if http.isMidRequest != wasMidRequest { (wasMidRequest, waitedSeconds) = (http.isMidRequest, 0) }
        if http.isOverfull, !isPaused {
            isPaused = true
            wire?.pauseReading()
        }
        if !http.output.isEmpty { wire?.setNeedsFlush() }
    }

    /// Answers the handshake of a WebSocket. Returns whether it is one now.
    private func upgrade(_ head: RequestHead) -> Bool {
        do throws(HTTPViolation) {
            // Any subprotocol will do; a client that has offered some wants to hear one of them.
            let offered = head.values(of: "sec-websocket-protocol").flatMap { $0.split(separator: ",") }
            let fields = try WebSocketUpgrade.fields(
                for: head, subprotocols: offered.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } })
            let rest = http.switchProtocols(fields)
            let session = WebDeviceSession(on: port, enrolmentKey: String(head.path.dropFirst()))
            hasUpgraded = true
            port.routes.remove(self)
            becomeWebSocket(BrowserSocket(of: session, output: http.output), rest)
            return true
        } catch {
            let fields = error.status == 426 ? [RequestHead.Field("sec-websocket-version", "13")] : []
            answer(0, WebResponse(status: error.status, fields: fields), isLast: true)
            return false
        }
    }

    func inputEnded() { wire?.close(.peerClosed) }

    func flush(into output: inout [UInt8]) {
        output += http.output
        http.output = []
    }

    var isKeptWaiting: Bool { !http.awaitsAnswer && !hasUpgraded }

    func look() {
        waitedSeconds += 1
        if http.isMidRequest {
            guard waitedSeconds * 1000 >= Limits.webRequestMilliseconds else { return }
            wire?.close(.stalled("a request without end"))
        } else if waitedSeconds * 1000 >= Limits.webIdleMilliseconds {
            wire?.close(.idleTimeout)
        }
    }

    func closed(_ reason: CloseReason) {
        port.routes.remove(self)
        port.context.webEnds.note(reason, of: wire?.peer)
        wire = nil
    }

    // MARK: WebSender

    func answer(_ stream: Int32, _ response: WebResponse) { answer(stream, response, isLast: isDraining) }

    private func answer(_ stream: Int32, _ response: WebResponse, isLast: Bool) {
        guard http.awaitsAnswer, wire != nil else { return }
        http.answer(response, isLast: isLast)
        waitedSeconds = 0
        wire?.setNeedsFlush()
        guard !http.isClosed else {
            wire?.close(.localClose)
            return
        }
        if isPaused {
            isPaused = false
            wire?.resumeReading()
        }
        // Requests that have waited for this answer, unless this is called while they are processed.
        if !isProcessing { process() }
    }

    func drain() {
        isDraining = true
        if !http.awaitsAnswer { wire?.close(.localClose) }
    }

    func abort() { wire?.abort(.localClose) }
}
