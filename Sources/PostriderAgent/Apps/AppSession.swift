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
    /// Streams of apps and input methods.
    private var callers: [Int32: AppCall] = [:]
    /// Streams with calls that wait, in the order in which they are processed. While there are any, the session is in
    /// the server's queue.
    private var waiting: [AppCall] = []
    /// Requests of `postrider agent` commands.
    private var orders: [Int32: (method: String, path: String, body: [UInt8])] = [:]
    private var isClosing = false
    /// When the connection began, by the server's counter.
    private(set) var openedAt: UInt64 = 0
    private(set) var goneAt: UInt64?
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
        openedAt = server.count()
        server.opened(self)
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        var method: CourierMethod?
        block.forEach { name, value in
            if name.spells(":path") { method = CourierMethod(path: value) }
        }
        if let path = block.text(of: ":path"), path.hasPrefix("/v1/"), let verb = block.text(of: ":method") {
            orders[stream] = (verb, path, [])
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
                if let caller = callers[stream] { end(caller, status, sentence) }
            }
        ) {
            [unowned self] message in say(message, on: stream)
        }
        callers[stream] = AppCall(stream, .app(app))
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let caller = callers[stream] else {
            endpoint.streams.consume(stream, bytes.count)
            return gather(bytes, on: stream)
        }
        guard !isClosing else { return }
        caller.feed(bytes)
        if waiting.isEmpty { server.queue(self) }
        if !isWaiting(caller) { waiting.append(caller) }
        server.workOff()
    }

    func ended(_ stream: Int32) {
        if let order = orders.removeValue(forKey: stream) { return obey(order, on: stream) }
        if let caller = callers[stream] { depart(caller, .ended) }
    }

    /// An app that cancels a stream has not failed; one whose connection breaks has. The streams of a broken connection
    /// end together.
    func closed(_ stream: Int32, errorCode: UInt32) {
        orders[stream] = nil
        if endpoint.wire != nil, let caller = callers[stream] { depart(caller, .cancelled) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        goneAt = server.count()
        // The loop has stopped, so no turn can process these calls.
        if reason == .loopStopped { waiting = [] }
        if reason.fault != nil { noteBroken("\(reason)") }
        let isOwnDoing = [.localClose, .loopStopped].contains(reason)
        for caller in Array(callers.values) { depart(caller, isOwnDoing ? .cancelled : .broken) }
        if callers.isEmpty { server.closed(self) }
    }

    /// An app has violated the protocol of its connection.
    private func noteBroken(_ reason: String) {
        server.log.info(
            "an app of user \(user) is cut off: \(reason)", kind: "app cut off", from: "\(user)",
            fields: .init(reason: reason))
    }

    /// Closes the connection once the received calls are processed. Later ones are ignored.
    func close() {
        isClosing = true
        if waiting.isEmpty { endpoint.close(.localClose) }
    }

    // MARK: Calls

    /// Processes one call. Returns false if no call waits.
    func workOffNext() -> Bool {
        guard let caller = waiting.first else { return false }
        do throws(CourierError) {
            if try workOffNext(of: caller) { return true }
            waiting.removeFirst()
            if callers[caller.stream] === caller { rest(caller) }
        } catch {
            waiting.removeFirst()
            if case .app = caller.party { noteBroken("\(error)") }
            end(caller, error.status, error.description)
        }
        if waiting.isEmpty, isClosing { endpoint.close(.localClose) }
        return !waiting.isEmpty
    }

    /// Processes one call of a stream. Returns false if there is none.
    private func workOffNext(of caller: AppCall) throws(CourierError) -> Bool {
        switch caller.party {
        case .app(let app):
            guard let message = try caller.next(AppMessage.self) else { return false }
            try server.router.receive(message, from: app)
        case .inputMethod(let inputMethod):
            guard let order = try caller.next(KeyboardOrder.self) else { return false }
            if let mistake = InputMethod.mistake(in: order) {
                end(caller, .invalidArgument, mistake)
                return false
            }
            let isChange = server.system.move(order, by: inputMethod)
            say(KeyboardAnswer(isChange: isChange), on: caller.stream)
        }
        return true
    }

    private func isWaiting(_ caller: AppCall) -> Bool { waiting.contains { $0 === caller } }

    /// All received calls of a stream are processed: it waits for more, or ends.
    private func rest(_ caller: AppCall) {
        switch caller.departure {
        case nil: letSend(caller)
        case .ended: end(caller, .ok, "")
        case .cancelled: forget(caller)
        case .broken: forget(caller, isBroken: true)
        }
    }

    /// Ends a stream once its calls are processed.
    private func depart(_ caller: AppCall, _ departure: AppCall.Departure) {
        caller.depart(departure)
        if !isWaiting(caller) { rest(caller) }
    }

    private func letSend(_ caller: AppCall) {
        let bytes = caller.release()
        guard bytes > 0, goneAt == nil else { return }
        endpoint.streams.consume(caller.stream, bytes)
    }

    private func say(_ message: some CourierMessage, on stream: Int32) {
        frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &frame)
        let bytes = frame
        endpoint.streams.send(stream, bytes.span)
    }

    private func forget(_ caller: AppCall, isBroken: Bool = false) {
        letSend(caller)
        callers[caller.stream] = nil
        switch caller.party {
        case .app(let app): server.router.left(app, isBroken: isBroken)
        case .inputMethod(let inputMethod): server.system.left(inputMethod, isBroken: isBroken)
        }
        if goneAt != nil, callers.isEmpty { server.closed(self) }
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
        callers[stream] = AppCall(stream, .inputMethod(InputMethod()))
    }

    // MARK: The owner of the device

    private func gather(_ bytes: Span<UInt8>, on stream: Int32) {
        orders[stream]?.body.append(copying: bytes)
        guard orders[stream]?.body.count ?? 0 > Limits.orderBytes else { return }
        orders[stream] = nil
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    private func obey(_ order: (method: String, path: String, body: [UInt8]), on stream: Int32) {
        let answer = server.control.handle(order.method, order.path, body: order.body, from: user)
        endpoint.answer(stream, status: answer.status, json: answer.body.span)
    }

    // MARK: How calls end ("PROTOCOL-HTTP2", Responses)

    private func end(_ caller: AppCall, _ status: GRPCStatus, _ message: String) {
        forget(caller)
        endpoint.streams.finish(caller.stream, trailers: Self.trailers(status, message, [:]))
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
