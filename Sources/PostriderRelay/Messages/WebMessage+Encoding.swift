import PostriderCourier
import PostriderNotifications
import PostriderWebPush

extension WebMessage {
    /// Appends the message as a field of a ``ShardMessage``. Returns false for one that stays within a process.
    func encode(into output: inout [UInt8]) -> Bool {
        switch self {
        case .push(let push, let address): output.append(.webPush, address, push.encode)
        case .queued(let address, let row): output.append(.webQueued, address) { $0.append(row) }
        case .cancel(let device, let number, let row, let address):
            output.append(.webCancel, address) { $0.append(row, device, number) }
        case .promised(let address, let isDurable):
            output.append(.webPromised, address) { $0.appendField(2, isDurable ? 1 : 0) }
        case .receipt(let receipt):
            output.appendField(ShardMessage.Kind.receipt.number, message: receipt.encode)
        case .readReceipts(let subscription, let address, let seconds):
            output.append(.readReceipts, address) { output in
                output.appendField(2, subscription.identity)
                output.appendField(3, UInt64(clamping: seconds))
            }
        case .receipts(let receipts, let address):
            output.append(.receipts, address) { output in
                for receipt in receipts { output.appendField(2, message: receipt.encode) }
            }
        case .removeReceipt(let subscription, let row, let address):
            output.append(.removeReceipt, address) { $0.append(row, subscription.identity) }
        case .removed(let address): output.append(.webRemoved, address) { _ in }
        case .refused(let rejection, let address): output.append(.webRefused, address, rejection.encode)
        case .findDevice, .send, .arrived: return false
        }
        return true
    }

    /// Decodes a message of one of the kinds of Web Push.
    init(_ kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        if kind == .receipt {
            self = .receipt(try Receipt(decoding: bytes))
            return
        }
        var parts = Parts()
        try parts.read(bytes, kind)
        guard let address = parts.address else {
            throw .missingChoice(of: "a message of Web Push", fields: "address")
        }
        switch (kind, parts.identity, parts.rejection, parts.push) {
        case (.webPush, _, _, let push?): self = .push(push, address)
        case (.webQueued, _, _, _): self = .queued(address, parts.row)
        case (.webCancel, let device?, _, _):
            self = .cancel(device, RegistrationNumber(parts.number), parts.row, address)
        case (.webPromised, _, _, _): self = .promised(address, isDurable: parts.isSet)
        case (.readReceipts, let identity?, _, _):
            self = .readReceipts(ReceiptSubscription(identity), address, seconds: Int(parts.number))
        case (.receipts, _, _, _): self = .receipts(parts.receipts, address)
        case (.removeReceipt, let identity?, _, _):
            self = .removeReceipt(ReceiptSubscription(identity), parts.row, address)
        case (.webRemoved, _, _, _): self = .removed(address)
        case (.webRefused, _, let rejection?, _): self = .refused(rejection, address)
        default:
            throw .missingChoice(of: "a message of Web Push", fields: "an identity, a rejection or a push")
        }
    }

    /// The fields of the messages, of which each kind has some.
    private struct Parts {
        var address: ReplyAddress?
        var row = QueueRow(0)
        var identity: DeviceIdentity?
        var number: UInt32 = 0
        var isSet = false
        var receipts: [Receipt] = []
        var rejection: WebPushRejection?
        var push: WebPush?

        mutating func read(_ bytes: Span<UInt8>, _ kind: ShardMessage.Kind) throws(CourierError) {
            if kind == .webPush { push = try WebPush(decoding: bytes) }
            if kind == .webRefused { rejection = try WebPushRejection(decoding: bytes) }
            var reader = ProtobufReader()
            while let field = try reader.next(in: bytes) {
                switch (kind, field.number) {
                case (_, 1): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
                case (.webPromised, 2): isSet = try field.uint64() != 0
                case (.readReceipts, 2): identity = try field.device(in: bytes)
                case (.readReceipts, 3): number = try field.exactly()
                case (.receipts, 2):
                    receipts.append(try Receipt(decoding: bytes.extracting(try field.range())))
                case (.webQueued, 2), (.webCancel, 2), (.removeReceipt, 2):
                    row = QueueRow(try field.int64())
                case (.webCancel, 3), (.removeReceipt, 3): identity = try field.device(in: bytes)
                case (.webCancel, 4): number = try field.exactly()
                default: break
                }
            }
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

extension Receipt {
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(bitPattern: row.value))
        output.appendField(2, device)
        output.appendField(3, UInt64(registration.value))
        output.appendField(4, subscription.identity)
        output.appendField(5, UInt64(bitPattern: expiresAt.milliseconds))
        if let outcome { output.appendField(6, UInt64(bitPattern: outcome.rawValue)) }
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var row = QueueRow(0)
        var (device, subscription) = (DeviceIdentity?.none, DeviceIdentity?.none)
        var registration = RegistrationNumber(0)
        var (expiresAt, outcome) = (Moment(milliseconds: 0), Outcome?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: row = QueueRow(try field.int64())
            case 2: device = try field.device(in: bytes)
            case 3: registration = RegistrationNumber(try field.exactly())
            case 4: subscription = try field.device(in: bytes)
            case 5: expiresAt = Moment(milliseconds: try field.int64())
            case 6:
                let number = try field.int64()
                outcome = Outcome(rawValue: number)
                guard number == 0 || outcome != nil else { throw .unknownValue(field: 6) }
            default: break
            }
        }
        guard let device, let subscription else {
            throw .missingChoice(of: "Receipt", fields: "device and subscription, both")
        }
        self.init(
            row: row, device: device, registration: registration,
            subscription: ReceiptSubscription(subscription), expiresAt: expiresAt, outcome: outcome)
    }
}

extension WebPushRejection {
    /// The reasons without details, by their numbers from 1. New ones are added at the end.
    private static let plain: [WebPushRejection] = [
        .missingTTL, .invalidTTL, .invalidUrgency, .invalidTopic, .unknownEncoding, .missingEncryptionKeys,
        .invalidEncryptionKeys, .messageTooLarge, .unauthorized, .notFound, .gone, .emptyMessage,
    ]

    fileprivate func encode(into output: inout [UInt8]) {
        switch self {
        case .forbidden(let flaw):
            output.appendField(3, UInt64((VAPIDFlaw.allCases.firstIndex(of: flaw) ?? 0) + 1))
        case .tooManyRequests(let seconds): output.appendPresentField(4, Int64(seconds))
        case .unavailable(let seconds): output.appendPresentField(5, Int64(seconds))
        case .methodNotAllowed(let allowed): output.appendElement(6, allowed)
        default: output.appendField(2, UInt64((Self.plain.firstIndex(of: self) ?? 0) + 1))
        }
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var rejection: WebPushRejection?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 2: rejection = try field.element(of: Self.plain)
            case 3: rejection = .forbidden(try field.element(of: VAPIDFlaw.allCases))
            case 4: rejection = .tooManyRequests(retryAfterSeconds: Int(try field.exactly() as UInt32))
            case 5: rejection = .unavailable(retryAfterSeconds: Int(try field.exactly() as UInt32))
            case 6: rejection = .methodNotAllowed(allowed: try field.text(in: bytes, limit: 100))
            default: break
            }
        }
        guard let rejection else { throw .missingChoice(of: "WebRefused", fields: "a rejection") }
        self = rejection
    }
}

extension ProtobufReader.Field {
    /// The element of a list that the content counts from 1.
    fileprivate func element<Element>(of all: [Element]) throws(CourierError) -> Element {
        let number: UInt32 = try exactly()
        guard 1...all.count ~= Int(number) else { throw .unknownValue(field: self.number) }
        return all[Int(number) - 1]
    }
}
