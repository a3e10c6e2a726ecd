import Courier
import Endpoints
import HTTP2
import Notifications
import Transport

/// One connection to the app socket: the gRPC service `postrider.agent.v1.Apps` (docs/agent.proto). Who is at the
/// other end is what the kernel says of the socket, not what the app says of itself.
final class AppSession: EndpointOwner {
    /// The user at the other end.
    let user: UInt32
    private unowned let door: AppDoor
    private(set) lazy var endpoint = Endpoint(role: .server, settings: Self.settings, owner: self)
    private var streams: [Int32: (stream: AppStream, framing: MessageFraming)] = [:]
    /// Requests of the owner's commands.
    private var orders: [Int32: (method: String, path: String, body: [UInt8])] = [:]
    /// Streams of an input method.
    private var keyboards: [Int32: (inputMethod: InputMethod, framing: MessageFraming)] = [:]
    private var frame: [UInt8] = []

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = Limits.streamsPerAppConnection
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        settings.connectionWindowSize = 65_535
        settings.maxOutboundBytes = Limits.outboundBytesPerStream
        return settings
    }()

    /// A session of `door` with a process of this user.
    init(user: UInt32, door: AppDoor) {
        self.user = user
        self.door = door
    }

    func opened() { door.opened(self) }

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
        endpoint.setNeedsFlush()
        let app = AppStream(
            user: user, process: endpoint.peer?.credentials?.process,
            countUnsent: { [unowned self] in endpoint.streams.outboundBytes(stream) }
        ) {
            [unowned self] message in say(message, on: stream)
        }
        streams[stream] = (app, MessageFraming(maxMessageBytes: Limits.appMessageBytes))
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard orders[stream] == nil else { return gather(bytes, on: stream) }
        guard keyboards[stream] == nil else { return moveKeyboard(bytes, on: stream) }
        guard let (app, held) = streams[stream] else { return }
        var framing = held
        framing.feed(bytes)
        do throws(CourierError) {
            while let message = try framing.next(AppMessage.self) { try receive(message, from: app) }
            streams[stream]?.framing = framing
        } catch {
            door.log.info("an app's stream is ended: \(error)")
            end(stream, error.status, error.description)
        }
    }

    func ended(_ stream: Int32) {
        if let order = orders.removeValue(forKey: stream) { return obey(order, on: stream) }
        end(stream, .ok, "")
    }

    /// An app that cancels has not failed; one whose connection breaks has. The streams of a broken connection end
    /// with it.
    func closed(_ stream: Int32, errorCode: UInt32) {
        orders[stream] = nil
        if endpoint.wire != nil { forget(stream) }
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) {
        let isOwnDoing = [.localClose, .loopStopped].contains(reason)
        for stream in Array(streams.keys) + keyboards.keys { forget(stream, isBroken: !isOwnDoing) }
        door.closed(self)
    }

    private func receive(_ message: AppMessage, from app: AppStream) throws(CourierError) {
        switch message {
        case .register(let topic, let environment):
            door.desk.register(topic, in: environment, for: app)
        case .unregister(let topic): door.desk.unregister(topic, for: app)
        case .handled(let deliveries):
            guard door.desk.handled(deliveries, by: app) else {
                throw .outOfOrder("An app handles what is under way to it, once.")
            }
        case .attach(let topic): door.desk.center.attach(topic, for: app)
        case .center(let call): door.desk.center.take(call, from: app)
        case .subscribe(let wish): door.desk.subscribe(wish, for: app)
        case .unsubscribe(let wish): door.desk.unsubscribe(wish, for: app)
        case .failed(let failed):
            guard door.desk.failed(failed, by: app) else {
                throw .outOfOrder("An app fails at what is under way to it, once.")
            }
        case .ready(let sleep): door.desk.system.ready(app, for: sleep)
        case .presentationWish(let wish): door.desk.wish(wish, from: app)
        case .presentation(let presentation): door.desk.presenter?.take(presentation, from: app)
        case .unknown: break
        }
    }

    private func say(_ message: some CourierMessage, on stream: Int32) {
        frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &frame)
        let bytes = frame
        endpoint.streams.send(stream, bytes.span)
        endpoint.setNeedsFlush()
    }

    private func forget(_ stream: Int32, isBroken: Bool = false) {
        if let (inputMethod, _) = keyboards.removeValue(forKey: stream) {
            door.desk.system.left(inputMethod, isBroken: isBroken)
        }
        guard let (app, _) = streams.removeValue(forKey: stream) else { return }
        door.desk.left(app, isBroken: isBroken)
    }

    // MARK: The input method

    private func attachKeyboard(_ stream: Int32) {
        guard door.keyboardUsers.contains(user) else {
            door.log.warning("user \(user) was refused: the keyboard is for the user of keyboard-user")
            refuse(stream, .permissionDenied, "This user is not the input method's: see keyboard-user.")
            return
        }
        endpoint.streams.openResponse(stream, [":status": "200", "content-type": "application/grpc"])
        endpoint.setNeedsFlush()
        keyboards[stream] = (InputMethod(), MessageFraming(maxMessageBytes: Limits.orderBytes))
    }

    private func moveKeyboard(_ bytes: Span<UInt8>, on stream: Int32) {
        guard let (inputMethod, held) = keyboards[stream] else { return }
        var framing = held
        framing.feed(bytes)
        do throws(CourierError) {
            while let order = try framing.next(KeyboardOrder.self) {
                if let mistake = InputMethod.mistake(in: order) {
                    return end(stream, .invalidArgument, mistake)
                }
                say(KeyboardAnswer(isChange: door.desk.system.move(order, by: inputMethod)), on: stream)
            }
            keyboards[stream]?.framing = framing
        } catch {
            end(stream, error.status, error.description)
        }
    }

    // MARK: The owner of the device

    private func gather(_ bytes: Span<UInt8>, on stream: Int32) {
        orders[stream]?.body.append(copying: bytes)
        guard orders[stream]?.body.count ?? 0 > Limits.orderBytes else { return }
        orders[stream] = nil
        endpoint.streams.reset(stream, errorCode: ErrorCode.enhanceYourCalm)
    }

    private func obey(_ order: (method: String, path: String, body: [UInt8]), on stream: Int32) {
        let answer = door.owner.handle(order.method, order.path, body: order.body, from: user)
        endpoint.answer(stream, status: answer.status, json: answer.body.span)
    }

    // MARK: The ends of calls ("PROTOCOL-HTTP2", Responses)

    private func end(_ stream: Int32, _ status: GRPCStatus, _ message: String) {
        guard streams[stream] != nil || keyboards[stream] != nil else { return }
        forget(stream)
        endpoint.streams.finish(stream, trailers: Self.trailers(status, message, [:]))
        endpoint.setNeedsFlush()
    }

    private func refuse(_ stream: Int32, _ status: GRPCStatus, _ message: String) {
        let head: HeaderBlock = [":status": "200", "content-type": "application/grpc"]
        endpoint.streams.respond(stream, Self.trailers(status, message, head))
        endpoint.setNeedsFlush()
    }

    private static func trailers(_ status: GRPCStatus, _ message: String, _ head: HeaderBlock) -> HeaderBlock
    {
        var block = head
        block.add("grpc-status", String(status.rawValue))
        if !message.isEmpty { block.add("grpc-message", GRPCMessage.encode(message).span) }
        return block
    }
}
