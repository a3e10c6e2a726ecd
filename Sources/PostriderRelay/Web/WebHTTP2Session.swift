import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import PostriderWeb

/// HTTP/2 on one connection to the web port: senders' requests.
final class WebHTTP2Session: EndpointOwner, WebSender {
    /// A request that has begun.
    private struct Exchange {
        let head: RequestHead
        var body: [UInt8] = []
        var bodyBytes = 0
        /// Whether it has arrived to its end, and waits for its answer.
        var isWhole = false
    }

    let number: UInt64
    private unowned let port: WebPort
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    private var exchanges: [Int32: Exchange] = [:]
    private var timer: (any LoopTimer)?
    /// Whether a request has begun since the timer was armed.
    private var wasUsed = false

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = Limits.webStreams
        settings.maxHeaderListBytes = Limits.webHeadBytes
        settings.maxHeaderFields = Limits.webHeadFields
        settings.readsHeaderBlocks = false
        return settings
    }()

    init(on port: WebPort) {
        number = port.context.drawNumber()
        self.port = port
    }

    // MARK: EndpointOwner

    func opened() {
        port.routes.add(self)
        timer = port.context.scheduler.makeTimer { [unowned self] in checkIdle() }
        timer?.arm(afterMilliseconds: Limits.webIdleMilliseconds)
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        wasUsed = true
        var (method, target) = ("", "")
        var fields: [RequestHead.Field] = []
        block.forEach { name, value in
            let text = String(decoding: Array(copying: value), as: UTF8.self)
            switch String(decoding: Array(copying: name), as: UTF8.self) {
            case ":method": method = text
            case ":path": target = text
            case ":authority": fields.append(.init("host", text))
            case ":scheme": break
            case let name: fields.append(.init(name, text))
            }
        }
        exchanges[stream] = Exchange(head: RequestHead(method: method, target: target, fields: fields))
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard var exchange = exchanges.removeValue(forKey: stream) else { return }
        exchange.bodyBytes += bytes.count
        guard exchange.bodyBytes <= Limits.webDrainedBytes else {
            return endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
        }
        let room = Limits.webPushBytes + 1 - exchange.body.count
        exchange.body.append(copying: bytes.extracting(first: min(room, bytes.count)))
        exchanges[stream] = exchange
    }

    func ended(_ stream: Int32) {
        guard let exchange = exchanges[stream] else { return }
        exchanges[stream]?.isWhole = true
        exchanges[stream]?.body = []
        port.routes.take(WebRequest(head: exchange.head, body: exchange.body), from: self, on: stream)
    }

    func closed(_ stream: Int32, errorCode: UInt32) { exchanges[stream] = nil }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        port.context.webEnds.noteGoaway(errorCode, debug, from: endpoint.peer)
    }

    func disconnected(_ reason: CloseReason, from peer: Peer?) {
        timer = nil
        port.routes.remove(self)
        port.context.webEnds.note(reason, of: peer)
    }

    private func checkIdle() {
        endpoint.streams.forgiveEmptyFrames()
        guard wasUsed || !exchanges.isEmpty else { return endpoint.closeWhenAnswered(.idleTimeout) }
        wasUsed = false
        timer?.arm(afterMilliseconds: Limits.webIdleMilliseconds)
    }

    // MARK: WebSender

    func answer(_ stream: Int32, _ response: WebResponse) {
        guard let exchange = exchanges.removeValue(forKey: stream), exchange.isWhole else { return }
        var block = HeaderBlock()
        block.add(":status", String(response.status))
        for field in response.fields { block.add(field.name, field.value) }
        let hasBody = !response.body.isEmpty && exchange.head.method != "HEAD"
        endpoint.streams.respond(stream, block, body: hasBody ? response.body : nil)
    }

    func drain() { endpoint.closeWhenAnswered(.localClose, settles: true) }

    func abort() { endpoint.wire?.abort(.localClose) }
}
