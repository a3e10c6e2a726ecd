import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One connection of the control socket. Only root and the user who runs the relay may use it; the kernel says who is
/// connected (SO_PEERCRED).
final class ControlSession: EndpointOwner {
    private let handler: ControlHandler
    private let user: UInt32
    private let log: Log
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    private var requests: [Int32: (method: String, path: String, body: [UInt8])] = [:]
    private var isOpen = true

    /// The longest body of a request, in bytes. The largest possible one adds a key for the most topics, each of the
    /// greatest length.
    private static let bodyBytes = 131_072

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 32
        settings.maxOutboundBytes = Limits.controlAnswerBytes
        return settings
    }()

    /// A session whose requests `handler` answers. `user` is the user who runs the relay.
    init(_ handler: ControlHandler, user: UInt32, log: Log) {
        self.handler = handler
        self.user = user
        self.log = log
    }

    func opened() {
        let caller = endpoint.peer?.credentials?.user
        guard caller == user || caller == 0 else {
            let name = caller.map(String.init) ?? "unknown"
            log.warning("the control socket refused user \(name)", kind: "control socket", from: name)
            endpoint.close(.refused("not the relay's user"))
            return
        }
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head, let method = block.text(of: ":method"), let path = block.text(of: ":path") else {
            return
        }
        requests[stream] = (method, path, [])
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let count = requests[stream]?.body.count else { return }
        guard count + bytes.count <= Self.bodyBytes else {
            requests[stream] = nil
            endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
            return
        }
        requests[stream]?.body.append(copying: bytes)
    }

    func ended(_ stream: Int32) {
        guard let request = requests[stream] else { return }
        handler.handle(request.method, request.path, body: request.body) { [self] answer in
            respond(stream, answer)
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) { requests[stream] = nil }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) { isOpen = false }

    /// The answer itself, or a sentence if it is longer than what may be sent at once.
    static func fitting(_ answer: ControlHandler.Answer) -> ControlHandler.Answer {
        guard answer.body.count > Limits.controlAnswerBytes else { return answer }
        let (has, most) = (answer.body.count >> 20, Limits.controlAnswerBytes >> 20)
        return ControlHandler.refusal(
            503, "The answer has \(has) MiB, more than the \(most) MiB that are sent at once: ask for less.")
    }

    /// Answers, unless the caller has gone.
    private func respond(_ stream: Int32, _ answer: ControlHandler.Answer) {
        guard isOpen, let request = requests[stream] else { return }
        let answer = Self.fitting(answer)
        // An answer to HEAD must be without a body (RFC 9110, section 9.3.2).
        let body = request.method == "HEAD" ? [] : answer.body
        endpoint.answer(stream, status: answer.status, json: body.span)
    }
}
