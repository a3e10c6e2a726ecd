import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One connection to the app socket: the gRPC service `postrider.agent.v1.Apps` (docs/reference/agent.proto). The
/// kernel says which user is at the other end (SO_PEERCRED); the app's own word does not count.
final class AppSession: EndpointOwner {
    /// The user at the other end.
    let user: UInt32
    private unowned let server: AppServer
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: Self.settings, owner: self)
    /// The streams of apps and input methods, by their numbers.
    private var calls: [Int32: AppCall] = [:]
    /// Streams with messages that are not processed yet, in the order of processing. While there are any, the session
    /// is in the server's queue.
    private var waiting: [AppCall] = []
    /// Requests of `postrider-agent` commands whose bodies are arriving, by their streams.
    private var requests: [Int32: (method: String, path: String, body: [UInt8])] = [:]
    private var isClosing = false
    /// When the connection began, by the server's counter.
    private(set) var openedAt: UInt64 = 0
    private(set) var closedAt: UInt64?
    private var frame: [UInt8] = []

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = Limits.streamsPerAppConnection
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        settings.connectionWindowSize = Limits.callBytesPerAppConnection
        settings.automaticWindowUpdates = false
        settings.maxOutboundBytes = Limits.outboundBytesPerStream
        return settings
    }()

    /// A session of this server with a process of this user.
    init(user: UInt32, server: AppServer) {
        self.user = user
        self.server = server
    }

    func opened() {
        openedAt = server.drawOrdinal()
        server.opened(self)
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        var method: CourierMethod?
        block.forEach { name, value in
            if name.spells(":path") { method = CourierMethod(path: value) }
        }
        if let path = block.text(of: ":path"), path.hasPrefix("/v1/"), let verb = block.text(of: ":method") {
            requests[stream] = (verb, path, [])
            return
        }
        switch method {
        case .attach: attach(stream)
        case .keyboard: attachKeyboard(stream)
        case .enroll, .connect, nil:
            refuse(stream, .unimplemented, "The service is postrider.agent.v1.Apps, its method Attach.")
        }
    }

    private func attach(_ stream: Int32) {
        endpoint.streams.openResponse(stream, [":status": "200", "content-type": "application/grpc"])
        let app = AppStream(
            user: user, process: endpoint.peer?.credentials?.process,
            countUnsent: { [unowned self] in endpoint.streams.outboundBytes(stream) },
            end: { [unowned self] status, sentence in
                if let call = calls[stream] { end(call, status, sentence) }
            }
        ) {
            [unowned self] message in send(message, on: stream)
        }
        calls[stream] = AppCall(stream, .app(app))
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let call = calls[stream] else {
            endpoint.streams.consume(stream, bytes.count)
            return receive(bytes, on: stream)
        }
        guard !isClosing else { return }
        call.feed(bytes)
        if waiting.isEmpty { server.enqueue(self) }
        if !isWaiting(call) { waiting.append(call) }
        server.processMessages()
    }

    func ended(_ stream: Int32) {
        if let request = requests.removeValue(forKey: stream) { return answer(request, on: stream) }
        if let call = calls[stream] { finish(call, .ended) }
    }

    /// An app that cancels a stream has not failed; one whose connection breaks has. The streams of a broken connection
    /// end together.
    func closed(_ stream: Int32, errorCode: UInt32) {
        requests[stream] = nil
        if endpoint.wire != nil, let call = calls[stream] { finish(call, .cancelled) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        closedAt = server.drawOrdinal()
        // The loop has stopped, so no turn can process these messages.
        if reason == .loopStopped { waiting = [] }
        if reason.fault != nil { logCutOff("\(reason)") }
        let isLocal = [.localClose, .loopStopped].contains(reason)
        for call in Array(calls.values) { finish(call, isLocal ? .cancelled : .broken) }
        if calls.isEmpty { server.closed(self) }
    }

    /// An app has violated the protocol of its connection.
    private func logCutOff(_ reason: String) {
        server.log.info(
            "an app of user \(user) is cut off: \(reason)", kind: "app cut off", from: "\(user)",
            fields: .init(reason: reason))
    }

    /// Closes the connection once the received messages are processed. Later ones are ignored.
    func close() {
        isClosing = true
        if waiting.isEmpty { endpoint.close(.localClose) }
    }

    // MARK: Messages

    /// Processes one message. Returns false if no message waits.
    func processNext() -> Bool {
        guard let call = waiting.first else { return false }
        do throws(CourierError) {
            if try processNext(of: call) { return true }
            waiting.removeFirst()
            if calls[call.stream] === call { drained(call) }
        } catch {
            waiting.removeFirst()
            if case .app = call.party { logCutOff("\(error)") }
            end(call, error.status, error.description)
        }
        if waiting.isEmpty, isClosing { endpoint.close(.localClose) }
        return !waiting.isEmpty
    }

    /// Processes one message of a stream. Returns false if there is none.
    private func processNext(of call: AppCall) throws(CourierError) -> Bool {
        switch call.party {
        case .app(let app):
            guard let message = try call.next(AppMessage.self) else { return false }
            try server.router.receive(message, from: app)
        case .inputMethod(let inputMethod):
            guard let order = try call.next(KeyboardOrder.self) else { return false }
            if let mistake = InputMethod.mistake(in: order) {
                end(call, .invalidArgument, mistake)
                return false
            }
            let isChange = server.system.move(order, by: inputMethod)
            send(KeyboardAnswer(isChange: isChange), on: call.stream)
        }
        return true
    }

    private func isWaiting(_ call: AppCall) -> Bool { waiting.contains { $0 === call } }

    /// All received messages of a stream are processed: it waits for more, or ends.
    private func drained(_ call: AppCall) {
        switch call.ending {
        case nil: openWindow(call)
        case .ended: end(call, .ok, "")
        case .cancelled: remove(call)
        case .broken: remove(call, isBroken: true)
        }
    }

    /// Ends a stream once its messages are processed.
    private func finish(_ call: AppCall, _ ending: AppCall.Ending) {
        call.finish(ending)
        if !isWaiting(call) { drained(call) }
    }

    private func openWindow(_ call: AppCall) {
        let bytes = call.takeProcessedBytes()
        guard bytes > 0, closedAt == nil else { return }
        endpoint.streams.consume(call.stream, bytes)
    }

    private func send(_ message: some CourierMessage, on stream: Int32) {
        frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &frame)
        let bytes = frame
        endpoint.streams.send(stream, bytes.span)
    }

    private func remove(_ call: AppCall, isBroken: Bool = false) {
        openWindow(call)
        calls[call.stream] = nil
        switch call.party {
        case .app(let app): server.router.left(app, isBroken: isBroken)
        case .inputMethod(let inputMethod): server.system.left(inputMethod, isBroken: isBroken)
        }
        if closedAt != nil, calls.isEmpty { server.closed(self) }
    }

    // MARK: The input method

    private func attachKeyboard(_ stream: Int32) {
        guard server.keyboardUsers.contains(user) else {
            server.log.warning(
                "user \(user) was refused: the keyboard is for the user of keyboard-user", kind: "keyboard",
                from: "\(user)")
            refuse(stream, .permissionDenied, "This user is not the input method's: see keyboard-user.")
            return
        }
        endpoint.streams.openResponse(stream, [":status": "200", "content-type": "application/grpc"])
        calls[stream] = AppCall(stream, .inputMethod(InputMethod()))
    }

    // MARK: The owner of the device

    private func receive(_ bytes: Span<UInt8>, on stream: Int32) {
        requests[stream]?.body.append(copying: bytes)
        guard requests[stream]?.body.count ?? 0 > Limits.orderBytes else { return }
        requests[stream] = nil
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    private func answer(_ request: (method: String, path: String, body: [UInt8]), on stream: Int32) {
        let answer = server.control.handle(request.method, request.path, body: request.body, from: user)
        endpoint.answer(stream, status: answer.status, json: answer.body.span)
    }

    // MARK: How calls end ("PROTOCOL-HTTP2", Responses)

    private func end(_ call: AppCall, _ status: GRPCStatus, _ message: String) {
        remove(call)
        endpoint.streams.finish(call.stream, trailers: Self.trailers(status, message, [:]))
    }

    private func refuse(_ stream: Int32, _ status: GRPCStatus, _ message: String) {
        let head: HeaderBlock = [":status": "200", "content-type": "application/grpc"]
        endpoint.streams.respond(stream, Self.trailers(status, message, head))
    }

    private static func trailers(_ status: GRPCStatus, _ message: String, _ head: HeaderBlock) -> HeaderBlock
    {
        var block = head
        block.add("grpc-status", String(status.rawValue))
        if !message.isEmpty { block.add("grpc-message", GRPCMessage.encode(message).span) }
        return block
    }
}
