import PostriderChannels
import PostriderCourier
import PostriderNotifications

extension ChannelMessage {
    /// Appends the message as a field of a ``ShardMessage``.
    func encode(into output: inout [UInt8]) {
        switch self {
        case .order(let order, let owner, let address):
            order.encode(of: owner, for: address, into: &output)
        case .answer(let address, let answer):
            output.append(.channelAnswer, address, answer.encode)
        case .subscribe(let request):
            output.appendField(ShardMessage.Kind.subscribe.number, message: request.encode)
        case .subscribed(let request, let isKnown, let stored, let row):
            output.appendField(ShardMessage.Kind.subscribed.number) { output in
                output.appendField(1, message: request.encode)
                output.appendField(2, isKnown ? 1 : 0)
                if let stored { output.appendField(3, message: stored.encode) }
                output.appendField(4, UInt64(bitPattern: row.value))
            }
        case .broadcast(let broadcast, let row):
            output.appendField(ShardMessage.Kind.broadcast.number) { output in
                output.appendField(1, message: broadcast.encode)
                output.appendField(2, UInt64(bitPattern: row.value))
            }
        case .removed(let channel):
            output.appendField(ShardMessage.Kind.removed.number) { $0.appendField(1, channel.bytes) }
        }
    }

    init(order bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, order) = (ReplyAddress?.none, ChannelCommand?.none)
        var (topic, environment) = (Topic?.none, Environment.production)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: topic = try field.topic(in: bytes)
            case 3: environment = try field.environment()
            case 4: order = .create(try field.storage())
            case 5: order = .read(try field.channel(in: bytes))
            case 6: order = .remove(try field.channel(in: bytes))
            case 7: if try field.uint64() != 0 { order = .list }
            case 8: order = try ChannelCommand(broadcast: bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let address, let topic, let order else {
            throw .missingChoice(of: "ChannelRequest", fields: "address, topic and a request, all three")
        }
        self = .order(order, ChannelOwner(topic: topic, environment: environment), address)
    }

    init(answer bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, answer) = (ReplyAddress?.none, ChannelAnswer?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: answer = .created(try field.channel(in: bytes))
            case 3: answer = .settings(try field.storage())
            case 4: if try field.uint64() != 0 { answer = .removed }
            case 5: answer = try ChannelAnswer(list: bytes.extracting(try field.range()))
            case 6: if try field.uint64() != 0 { answer = .accepted }
            case 7: answer = .rejected(try field.rejection(in: bytes))
            default: break
            }
        }
        guard let address, let answer else {
            throw .missingChoice(of: "ChannelAnswer", fields: "address and an answer, both")
        }
        self = .answer(address, answer)
    }

    init(subscribed bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (request, isKnown, stored) = (SubscriptionRequest?.none, false, Broadcast?.none)
        var row = QueueRow(0)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: request = try SubscriptionRequest(decoding: bytes.extracting(try field.range()))
            case 2: isKnown = try field.uint64() != 0
            case 3: stored = try Broadcast(decoding: bytes.extracting(try field.range()))
            case 4: row = QueueRow(try field.int64())
            default: break
            }
        }
        guard let request else { throw .missingChoice(of: "Subscribed", fields: "request") }
        self = .subscribed(request, isKnown: isKnown, stored, row)
    }

    init(broadcast bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (broadcast, row) = (Broadcast?.none, QueueRow(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: broadcast = try Broadcast(decoding: bytes.extracting(try field.range()))
            case 2: row = QueueRow(try field.int64())
            default: break
            }
        }
        guard let broadcast else { throw .missingChoice(of: "BroadcastRow", fields: "broadcast") }
        self = .broadcast(broadcast, row)
    }

    init(removed bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var channel: ChannelIdentity?
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { channel = try field.channel(in: bytes) }
        }
        guard let channel else { throw .wrongLength(field: 1, expected: ChannelIdentity.byteCount) }
        self = .removed(channel)
    }
}

extension ChannelOwner {
    /// Appends fields 2 and 3 of a channel request or of a subscription.
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(2, topic.text)
        output.appendField(3, environment.protobufValue)
    }
}

extension ChannelCommand {
    /// Appends ``ChannelMessage/order(_:_:_:)`` as a field of a ``ShardMessage``.
    func encode(of owner: ChannelOwner, for address: ReplyAddress, into output: inout [UInt8]) {
        output.append(.order, address) { output in
            owner.encode(into: &output)
            encode(into: &output)
        }
    }

    /// Appends one of fields 4 to 8 of a channel request.
    fileprivate func encode(into output: inout [UInt8]) {
        switch self {
        case .create(let storage): output.appendPresentField(4, Int64(storage.rawValue))
        case .read(let channel): output.appendField(5, channel.bytes)
        case .remove(let channel): output.appendField(6, channel.bytes)
        case .list: output.appendField(7, 1)
        case .broadcast(let broadcast, let isNowOrNever, let proof):
            output.appendField(8) { output in
                output.appendField(1, message: broadcast.encode)
                output.appendField(2, isNowOrNever ? 1 : 0)
                output.appendField(3, message: proof.encode)
            }
        }
    }

    fileprivate init(broadcast bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (broadcast, isNowOrNever, proof) = (Broadcast?.none, false, ProviderProof?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: broadcast = try Broadcast(decoding: bytes.extracting(try field.range()))
            case 2: isNowOrNever = try field.uint64() != 0
            case 3: proof = try ProviderProof(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let broadcast, let proof else {
            throw .missingChoice(of: "BroadcastOrder", fields: "broadcast and proof, both")
        }
        self = .broadcast(broadcast, isNowOrNever: isNowOrNever, by: proof)
    }
}

extension ChannelAnswer {
    /// Appends one of fields 2 to 7 of a channel answer.
    fileprivate func encode(into output: inout [UInt8]) {
        switch self {
        case .created(let channel): output.appendField(2, channel.bytes)
        case .settings(let storage): output.appendPresentField(3, Int64(storage.rawValue))
        case .removed: output.appendField(4, 1)
        case .list(let channels):
            output.appendField(5) { output in
                for channel in channels { output.appendField(1, channel.bytes) }
            }
        case .accepted: output.appendField(6, 1)
        case .rejected(let rejection): output.appendField(7, rejection.rawValue)
        }
    }

    fileprivate init(list bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var channels: [ChannelIdentity] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            guard channels.count < Limits.channelsPerApp else {
                throw .tooMany(field: 1, limit: Limits.channelsPerApp)
            }
            channels.append(try field.channel(in: bytes))
        }
        self = .list(channels)
    }
}

extension SubscriptionRequest {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, channel.bytes)
        owner.encode(into: &output)
        output.appendField(4, message: wish.encode)
        output.appendField(5, UInt64(shard))
        output.appendField(6, connection)
        output.appendField(7, ticket)
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (channel, wish) = (ChannelIdentity?.none, Subscribe?.none)
        var (topic, environment) = (Topic?.none, Environment.production)
        var (shard, connection, ticket) = (UInt16(0), UInt64(0), UInt64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: channel = try field.channel(in: bytes)
            case 2: topic = try field.topic(in: bytes)
            case 3: environment = try field.environment()
            case 4: wish = try Subscribe(decoding: bytes.extracting(try field.range()))
            case 5: shard = try field.exactly()
            case 6: connection = try field.uint64()
            case 7: ticket = try field.uint64()
            default: break
            }
        }
        guard let channel, let topic, let wish else {
            throw .missingChoice(of: "Subscription", fields: "channel, topic and wish, all three")
        }
        self.init(
            channel: channel, owner: ChannelOwner(topic: topic, environment: environment), wish: wish,
            shard: Int(shard), connection: connection, ticket: ticket)
    }
}

extension ProtobufReader.Field {
    fileprivate func storage() throws(CourierError) -> ChannelStorage {
        guard let storage = ChannelStorage(rawValue: try exactly()) else {
            throw .unknownValue(field: number)
        }
        return storage
    }
}
