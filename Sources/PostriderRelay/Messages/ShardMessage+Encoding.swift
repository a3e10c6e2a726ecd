import PostriderChannels
import PostriderCourier
import PostriderNotifications

/// The encoding of the messages that shards of different processes exchange: proto3, as
/// docs/internals/shard-messages.proto specifies.
///
/// Decoders ignore unknown fields, so that two versions that follow each other understand each other. They refuse a
/// message of an unknown kind and unknown values of enumerations, because nothing known can stand for them.
extension ShardMessage {
    /// Encodes the message. Returns nil for messages that stay within a process: those of the ledger and of the trace,
    /// of the registry and of the relay's end, the operator's questions, and those about connections of this process.
    ///
    /// - Throws: `CourierError.messageTooLarge` above ``Limits/shardMessageBytes``.
    func encoded() throws(CourierError) -> [UInt8]? {
        var output: [UInt8] = []
        switch self {
        case .push(.deliver(let notification, let address)):
            notification.encode(for: address, into: &output)
        case .push(.answer(let address, let result)):
            output.append(.pushAnswer, address, result.encode)
        case .channel(let message): message.encode(into: &output)
        case .web(let message): guard message.encode(into: &output) else { return nil }
        case .edge(let message): guard message.encode(into: &output) else { return nil }
        case .nodeQuery(let message): guard message.encode(into: &output) else { return nil }
        case .handover(let message): message.encode(into: &output)
        case .push(.stored), .push(.loaded), .device, .registry, .control, .lifecycle: return nil
        }
        guard output.count <= Limits.shardMessageBytes else {
            throw .messageTooLarge(bytes: output.count, limit: Limits.shardMessageBytes)
        }
        return output
    }

    /// Decodes a message.
    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        guard bytes.count <= Limits.shardMessageBytes else {
            throw .messageTooLarge(bytes: bytes.count, limit: Limits.shardMessageBytes)
        }
        var reader = ProtobufReader()
        var message: ShardMessage?
        while let field = try reader.next(in: bytes) {
            guard let kind = Kind(rawValue: field.number) else { continue }
            message = try ShardMessage(kind, bytes.extracting(try field.range()))
        }
        guard let message else {
            throw .missingChoice(of: "ShardMessage", fields: "the messages that this version knows")
        }
        self = message
    }

    /// The kinds of messages, by the numbers of their fields.
    enum Kind: UInt32 {
        case deliver = 1
        case pushAnswer = 2
        case order = 3
        case channelAnswer = 4
        case subscribe = 5
        case subscribed = 6
        case broadcast = 7
        case removed = 8
        case webPush = 20
        case plainSend = 21
        case webCancel = 22
        case webAccepted = 23
        case receipt = 24
        case readReceipts = 25
        case receipts = 26
        case removeReceipt = 27
        case webRemoved = 28
        case webRefused = 29
        case edgeOpen = 40
        case edgeSaid = 41
        case edgeEnded = 42
        case edgeSay = 43
        case edgeFinish = 44
        case edgeRefuse = 45
        case edgeOpenBrowser = 46
        case edgeClose = 47
        case nodeAsk = 60
        case nodeGoOn = 61
        case nodeAnswer = 62
        case requestAgain = 50
        case requestReturned = 51
        case recall = 52
        case recalled = 53

        /// The number of the field.
        var number: UInt64 { UInt64(rawValue) }
    }

    private init(_ kind: Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case .deliver: self = .push(try PushMessage(delivery: bytes))
        case .pushAnswer: self = .push(try PushMessage(answer: bytes))
        case .order: self = .channel(try ChannelMessage(order: bytes))
        case .channelAnswer: self = .channel(try ChannelMessage(answer: bytes))
        case .subscribe: self = .channel(.subscribe(try SubscriptionRequest(decoding: bytes)))
        case .subscribed: self = .channel(try ChannelMessage(subscribed: bytes))
        case .broadcast: self = .channel(try ChannelMessage(broadcast: bytes))
        case .removed: self = .channel(try ChannelMessage(removed: bytes))
        case .webPush, .plainSend, .webCancel, .webAccepted, .receipt, .readReceipts, .receipts,
            .removeReceipt, .webRemoved, .webRefused:
            self = .web(try WebMessage(kind, bytes))
        case .edgeOpen, .edgeSaid, .edgeEnded, .edgeSay, .edgeFinish, .edgeRefuse, .edgeOpenBrowser,
            .edgeClose:
            self = .edge(try EdgeMessage(kind, bytes))
        case .nodeAsk, .nodeGoOn, .nodeAnswer: self = .nodeQuery(try NodeQuery(kind, bytes))
        case .requestAgain, .requestReturned, .recall, .recalled:
            self = .handover(try HandoverMessage(kind, bytes))
        }
    }
}

extension Notification {
    /// Appends ``PushMessage/deliver(_:_:)`` as a field of a ``ShardMessage``.
    func encode(for address: ReplyAddress, into output: inout [UInt8]) {
        // What is not the payload is short.
        output.reserveCapacity(output.count + payload.count + 256)
        output.append(.deliver, address) { $0.appendField(2, message: encode) }
    }
}

extension PushMessage {
    init(delivery bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, notification) = (ReplyAddress?.none, Notification?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: notification = try Notification(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let address, let notification else {
            throw .missingChoice(of: "Deliver", fields: "address and notification, both")
        }
        self = .deliver(notification, address)
    }

    fileprivate init(answer bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, rejection) = (ReplyAddress?.none, Rejection?.none)
        var since: Moment?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: rejection = try field.rejection(in: bytes)
            case 3: since = Moment(milliseconds: try field.int64())
            default: break
            }
        }
        guard let address else { throw .missingChoice(of: "PushAnswer", fields: "address") }
        self = .answer(address, rejection.map { .rejected($0, since: since) } ?? .accepted)
    }
}

extension PushResult {
    /// Appends fields 2 and 3 of a push answer.
    fileprivate func encode(into output: inout [UInt8]) {
        guard case .rejected(let rejection, let since) = self else { return }
        output.appendField(2, rejection.rawValue)
        output.appendPresentField(3, since?.milliseconds)
    }
}

extension [UInt8] {
    /// Appends a message of this kind: an address as its field 1, and what `rest` appends.
    mutating func append(
        _ kind: ShardMessage.Kind, _ address: ReplyAddress, _ rest: (inout [UInt8]) -> Void
    ) {
        appendField(kind.number) { output in
            output.appendField(1, message: address.encode)
            rest(&output)
        }
    }
}
