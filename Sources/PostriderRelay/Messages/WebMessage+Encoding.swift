import PostriderCourier
import PostriderNotifications
import PostriderWebPush

extension WebMessage {
    /// Appends the message as a field of a ``ShardMessage``. Returns false for one that stays within a process.
    func encode(into output: inout [UInt8]) -> Bool {
        switch self {
        case .request(let request, let address): request.encode(for: address, into: &output)
        case .accepted(let address, let row, let hasReceipt):
            output.append(.webAccepted, address) { output in
                output.appendField(2, UInt64(bitPattern: row.value))
                output.appendField(3, hasReceipt ? 1 : 0)
            }
        case .receipts(let receipts, let address):
            output.append(.receipts, address) { output in
                for receipt in receipts { output.appendField(2, message: receipt.encode) }
            }
        case .removed(let address): output.append(.webRemoved, address) { _ in }
        case .refused(let rejection, let address): output.append(.webRefused, address, rejection.encode)
        case .receipt(let receipt):
            output.appendField(ShardMessage.Kind.receipt.number, message: receipt.encode)
        case .findDevice, .found, .arrived: return false
        }
        return true
    }

    /// Decodes a message of one of the kinds of Web Push.
    init(_ kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case .receipt: self = .receipt(try Receipt(decoding: bytes))
        case .webAccepted, .receipts, .webRemoved, .webRefused:
            self = try WebMessage(answer: kind, bytes)
        default:
            let (request, address) = try SenderRequest.decode(kind, bytes)
            self = .request(request, address)
        }
    }

    private init(answer kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var address: ReplyAddress?
        var (row, hasReceipt) = (QueueRow(0), false)
        var receipts: [Receipt] = []
        while let field = try reader.next(in: bytes) {
            switch (kind, field.number) {
            case (_, 1): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case (.webAccepted, 2): row = QueueRow(try field.int64())
            case (.webAccepted, 3): hasReceipt = try field.uint64() != 0
            case (.receipts, 2):
                receipts.append(try Receipt(decoding: bytes.extracting(try field.range())))
            default: break
            }
        }
        guard let address else { throw .missingChoice(of: "an answer of Web Push", fields: "address") }
        self =
            switch kind {
            case .webAccepted: .accepted(address, row, hasReceipt: hasReceipt)
            case .receipts: .receipts(receipts, address)
            case .webRefused: .refused(try WebPushRejection(decoding: bytes), address)
            default: .removed(address)
            }
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

    func encode(into output: inout [UInt8]) {
        switch self {
        case .forbidden(let flaw):
            output.appendField(3, UInt64((VAPIDFlaw.allCases.firstIndex(of: flaw) ?? 0) + 1))
        case .tooManyRequests(let seconds): output.appendPresentField(4, Int64(seconds))
        case .unavailable(let seconds): output.appendPresentField(5, Int64(seconds))
        case .methodNotAllowed(let allowed): output.appendElement(6, allowed)
        default: output.appendField(2, UInt64((Self.plain.firstIndex(of: self) ?? 0) + 1))
        }
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
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
