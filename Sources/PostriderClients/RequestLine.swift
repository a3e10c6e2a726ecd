import PostriderEndpoints
import PostriderHTTP2
import PostriderTransport

/// The connection of a ``RequestClient``. The HTTP/2 handler keeps it until the connection has ended, even if the
/// client was released before.
final class RequestLine: EndpointOwner {
    private enum Phase {
        case connecting(Dialing?)
        case open
        /// One side has begun to end the connection: no request can be made, and those under way may still be
        /// answered.
        case ending
        case closed(ClientError)
    }

    private let server: Server
    private let loop: EventLoop
    private let bounds: RequestClient.Bounds
    private lazy var endpoint = HTTP2Handler(role: .client, settings: Self.settings, owner: self)
    private var phase = Phase.connecting(nil)
    private var hasOpened = false

    /// The requests that were passed to the HTTP/2 connection, by stream.
    private var exchanges: [Int32: RequestExchange] = [:]
    private var waiting = RequestQueue()
    /// How many concurrent streams the server permits. It is assumed to be 1 until the server has sent its settings,
    /// because a server may permit more only after it has identified the client.
    private var streamLimit = 1
    private var deadlines: (any LoopTimer)?
    private var nextDeadline = UInt64.max

    var onClose: ((CloseReason) -> Void)?

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxHeaderListBytes = 65_536
        return settings
    }()

    init(_ server: Server, _ loop: EventLoop, _ bounds: RequestClient.Bounds) {
        self.server = server
        self.loop = loop
        self.bounds = bounds
    }

    func connect() {
        phase = .connecting(
            server.dial(from: loop, timeoutMilliseconds: bounds.connectMilliseconds, session: endpoint))
    }

    func close() {
        switch phase {
        case .connecting(let dialing):
            phase = .ending
            dialing?.cancel()
        case .open, .ending:
            phase = .ending
            endpoint.close(.localClose)
        case .closed: return
        }
    }

    var takesRequests: Bool {
        switch phase {
        case .connecting, .open: true
        case .ending, .closed: false
        }
    }

    var openRequests: Int { exchanges.values.count { $0.isOpen } + waiting.count }

    func makeHead(_ method: String, _ path: String) -> HeaderBlock {
        var head = HeaderBlock()
        head.add(":method", method)
        head.add(":scheme", server.scheme)
        head.add(":authority", server.authority)
        // Each path contains another device token, so it is not added to the dynamic table.
        head.addUnindexed(":path", path)
        return head
    }

    func send(
        _ head: HeaderBlock, _ body: [UInt8], _ timeoutMilliseconds: Int,
        _ completion: @escaping RequestClient.Completion
    ) throws(ClientError) {
        switch phase {
        case .connecting, .open: break
        case .ending: throw .unprocessed
        case .closed(let error): throw error
        }
        guard waiting.count < bounds.requestsWaiting else { throw .overloaded }
        let deadline = loop.now + UInt64(max(0, timeoutMilliseconds)) * 1_000_000
        let exchange = RequestExchange(head, body, deadline: deadline, completion)
        waiting.append(exchange)
        watch(deadline)
        startWaiting()
    }

    private var parallelism: Int { min(streamLimit, bounds.requestsUnderWay) }

    /// Passes queued requests to the HTTP/2 connection while it has free streams.
    private func startWaiting() {
        guard case .open = phase else { return }
        while exchanges.count < parallelism, let exchange = waiting.popFirst() {
            do throws(SessionError) {
                let stream = try endpoint.streams.request(exchange.head, body: exchange.takeBody())
                exchanges[stream] = exchange
            } catch {
                // The connection is ending, or has no stream numbers left.
                waiting.putBack(exchange)
                close()
                return
            }
        }
    }

    private func failWaiting(_ error: ClientError) {
        while let exchange = waiting.popFirst() { exchange.finish(.failure(error)) }
    }

    // MARK: Deadlines

    /// Arms the one timer of all requests for the earliest deadline. While responses arrive in time, it hardly ever
    /// fires.
    private func watch(_ deadline: UInt64) {
        guard deadline < nextDeadline else { return }
        nextDeadline = deadline
        let timer = deadlines ?? loop.makeTimer { [unowned self] in checkDeadlines() }
        deadlines = timer
        timer.arm(afterMilliseconds: Int((deadline - loop.now + 999_999) / 1_000_000))
    }

    private func checkDeadlines() {
        nextDeadline = .max
        let now = loop.now
        for (stream, exchange) in exchanges where exchange.isOpen {
            guard exchange.deadline <= now else {
                watch(exchange.deadline)
                continue
            }
            exchange.finish(.failure(.timedOut))
            endpoint.streams.reset(stream, errorCode: ErrorCode.cancel)
        }
        for exchange in waiting.removeAll(where: { $0.deadline <= now }) {
            exchange.finish(.failure(.timedOut))
        }
        if let next = waiting.earliestDeadline { watch(next) }
    }

    // MARK: EndpointOwner

    func opened() {
        phase = .open
        hasOpened = true
        startWaiting()
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard let exchange = exchanges[stream] else { return }
        switch kind {
        case .head: exchange.answer = block
        case .informational: break
        case .trailers: exchange.trailers = block
        }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let exchange = exchanges[stream], exchange.isOpen else { return }
        guard exchange.body.count + bytes.count <= bounds.responseBytes else {
            exchange.finish(.failure(.responseTooLarge(limit: bounds.responseBytes)))
            endpoint.streams.reset(stream, errorCode: ErrorCode.cancel)
            return
        }
        exchange.body.append(copying: bytes)
    }

    func ended(_ stream: Int32) { exchanges[stream]?.finishAnswered() }

    func closed(_ stream: Int32, errorCode: UInt32) {
        // If the connection has ended, `disconnected` has the reason.
        guard endpoint.wire != nil, let exchange = exchanges.removeValue(forKey: stream) else { return }
        exchange.finish(
            .failure(errorCode == ErrorCode.refusedStream ? .unprocessed : .reset(errorCode: errorCode)))
        startWaiting()
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        phase = .ending
        for (stream, exchange) in exchanges where stream > lastStream {
            exchange.finish(.failure(.unprocessed))
        }
        failWaiting(.unprocessed)
    }

    func settingsReceived(maxConcurrentStreams: UInt32) {
        streamLimit = Int(maxConcurrentStreams)
        startWaiting()
    }

    func disconnected(_ reason: CloseReason) {
        let neverSent = ClientError.notConnected(reason)
        phase = .closed(neverSent)
        deadlines = nil
        let underWay = exchanges
        exchanges = [:]
        for exchange in underWay.values {
            exchange.finish(.failure(hasOpened ? .disconnected(reason) : neverSent))
        }
        failWaiting(neverSent)
        let onClose = self.onClose
        self.onClose = nil
        onClose?(reason)
    }
}
