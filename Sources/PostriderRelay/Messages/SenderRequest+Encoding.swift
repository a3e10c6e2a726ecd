import PostriderCourier
import PostriderNotifications
import PostriderProviderAPI
import PostriderWebPush

extension ShardMessage.Kind {
    /// Whether it is a ``SenderRequest``.
    var isOfSender: Bool {
        switch self {
        case .webPush, .plainSend, .webCancel, .readReceipts, .removeReceipt: true
        default: false
        }
    }
}

extension SenderRequest {
    /// Appends the request as a field of a ``ShardMessage``.
    func encode(for address: ReplyAddress, into output: inout [UInt8]) {
        switch self {
        case .push(let push): output.append(.webPush, address, push.encode)
        case .send(let send, let device):
            output.append(.plainSend, address) { output in
                output.appendField(2, device)
                send.encode(into: &output)
            }
        case .cancel(let device, let number, let row):
            output.append(.webCancel, address) { $0.append(row, device, number) }
        case .readReceipts(let subscription, let seconds):
            output.append(.readReceipts, address) { output in
                output.appendField(2, subscription.identity)
                output.appendField(3, UInt64(clamping: seconds))
            }
        case .removeReceipt(let subscription, let row):
            output.append(.removeReceipt, address) { $0.append(row, subscription.identity) }
        }
    }

    /// Decodes a request of one of the kinds for it, and the address of its sender.
    static func decode(
        _ kind: ShardMessage.Kind, _ bytes: Span<UInt8>
    ) throws(CourierError) -> (SenderRequest, ReplyAddress) {
        var reader = ProtobufReader()
        var (address, identity) = (ReplyAddress?.none, DeviceIdentity?.none)
        var (row, number) = (QueueRow(0), UInt32(0))
        while let field = try reader.next(in: bytes) {
            switch (kind, field.number) {
            case (_, 1): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case (.readReceipts, 2), (.plainSend, 2): identity = try field.device(in: bytes)
            case (.readReceipts, 3): number = try field.exactly()
            case (.webCancel, 2), (.removeReceipt, 2): row = QueueRow(try field.int64())
            case (.webCancel, 3), (.removeReceipt, 3): identity = try field.device(in: bytes)
            case (.webCancel, 4): number = try field.exactly()
            default: break
            }
        }
        guard let address else { throw .missingChoice(of: "a sender's request", fields: "address") }
        if kind == .webPush { return (.push(try WebPush(decoding: bytes)), address) }
        guard let identity else { throw .missingChoice(of: "a sender's request", fields: "identity") }
        let subscription = ReceiptSubscription(identity)
        switch kind {
        case .plainSend: return (.send(try PlainSend(decoding: bytes), identity), address)
        case .webCancel: return (.cancel(identity, RegistrationNumber(number), row), address)
        case .readReceipts: return (.readReceipts(subscription, seconds: Int(number)), address)
        default: return (.removeReceipt(subscription, row), address)
        }
    }
}

extension [UInt8] {
    /// Appends fields 2 to 4 of a `WebRow`.
    fileprivate mutating func append(
        _ row: QueueRow, _ identity: DeviceIdentity? = nil, _ number: RegistrationNumber? = nil
    ) {
        appendField(2, UInt64(bitPattern: row.value))
        if let identity { appendField(3, identity) }
        if let number { appendField(4, UInt64(number.value)) }
    }
}

extension PlainSend {
    /// Appends fields 3 to 10 of a `PlainSend`.
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(3, identity)
        output.appendField(4, topic.text)
        output.appendField(5, UInt64(bitPattern: message.secondsToLive))
        output.appendField(6, UInt64(message.priority.rawValue))
        if let collapse = message.collapse { output.appendElement(7, collapse) }
        output.appendField(8, message.payload)
        output.appendField(9, token)
        if let traceContext { output.appendField(10, message: traceContext.encode) }
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, topic) = (NotificationIdentity?.none, Topic?.none)
        var (seconds, priority, collapse) = (Int64(0), Priority?.none, String?.none)
        var (payload, token, traceContext) = ([UInt8](), "", TraceContext?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 3: identity = try field.notificationIdentity(in: bytes)
            case 4: topic = try field.topic(in: bytes)
            case 5: seconds = try field.int64()
            case 6: priority = try field.priority()
            case 7: collapse = try field.text(in: bytes, limit: Limits.collapseIdentifierBytes)
            case 8: payload = try field.bytes(in: bytes, atMost: Limits.payloadBytes)
            case 9: token = try field.text(in: bytes)
            case 10: traceContext = try TraceContext.decode(bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let identity, let topic, let priority else {
            throw .missingChoice(of: "PlainSend", fields: "identity, topic and priority, all three")
        }
        self.init(
            identity: identity, topic: topic,
            message: PlainMessage(
                payload: payload, priority: priority, secondsToLive: seconds, collapse: collapse),
            token: token, traceContext: traceContext)
    }
}

extension WebPush {
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(2, identity)
        output.appendField(3, device)
        output.appendField(4, UInt64(registration.value))
        output.appendField(5, UInt64(bitPattern: request.secondsToLive))
        output.appendField(6, request.urgency.rawValue)
        if let topic = request.topic { output.appendElement(7, topic) }
        switch request.message {
        case .success(let message): output.appendField(8, message.stored)
        case .failure(let rejection):
            output.appendField(11, request.body)
            output.appendField(12, message: rejection.encode)
        }
        if let credentials = request.credentials {
            output.appendField(9) { output in
                output.appendField(1, credentials.token)
                output.appendField(2, credentials.key)
            }
        }
        if let receipts { output.appendField(10, receipts.identity) }
        if let traceContext { output.appendField(13, message: traceContext.encode) }
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, device) = (NotificationIdentity?.none, DeviceIdentity?.none)
        var registration = RegistrationNumber(0)
        var secondsToLive: Int64 = 0
        var (urgency, topic) = (WebPushRequest.Urgency?.none, String?.none)
        var message: Result<WebPushMessage, WebPushRejection>?
        var body: [UInt8] = []
        var credentials: VAPIDCredentials?
        var (receipts, traceContext) = (ReceiptSubscription?.none, TraceContext?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 2: identity = try field.notificationIdentity(in: bytes)
            case 3: device = try field.device(in: bytes)
            case 4: registration = RegistrationNumber(try field.exactly())
            case 5: secondsToLive = try field.int64()
            case 6: urgency = WebPushRequest.Urgency(rawValue: try field.text(in: bytes))
            case 7: topic = try field.text(in: bytes, limit: Limits.webPushTopicCharacters)
            case 8:
                let stored = try field.bytes(in: bytes, atMost: WebPushMessage.mostStoredBytes)
                guard let read = WebPushMessage(stored: stored) else { throw .unknownValue(field: 8) }
                (message, body) = (.success(read), read.bytes)
            case 9: credentials = try VAPIDCredentials(decoding: bytes.extracting(try field.range()))
            case 10: receipts = ReceiptSubscription(try field.device(in: bytes))
            case 11: body = try field.bytes(in: bytes, atMost: Limits.webPushBytes)
            case 12: message = .failure(try WebPushRejection(decoding: bytes.extracting(try field.range())))
            case 13: traceContext = try TraceContext.decode(bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let identity, let device, let urgency, let message else {
            throw .missingChoice(of: "WebPush", fields: "identity, device, urgency and message, all four")
        }
        self.init(
            identity: identity, device: device, registration: registration,
            request: WebPushRequest(
                secondsToLive: secondsToLive, urgency: urgency, topic: topic, wantsReceipt: receipts != nil,
                body: body, message: message, credentials: credentials),
            receipts: receipts, traceContext: traceContext)
    }
}

extension VAPIDCredentials {
    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (token, key) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: token = try field.text(in: bytes, limit: Limits.webPushFieldBytes)
            case 2: key = try field.text(in: bytes, limit: Limits.webPushFieldBytes)
            default: break
            }
        }
        self.init(token: token, key: key)
    }
}
