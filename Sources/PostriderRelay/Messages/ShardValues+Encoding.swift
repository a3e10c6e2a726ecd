import PostriderCallbacks
import PostriderCourier
import PostriderNotifications

// The values in messages between shards.

extension ReplyAddress {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(UInt32(bitPattern: shard)))
        output.appendField(2, UInt64(UInt32(bitPattern: stream)))
        output.appendField(3, connection)
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (shard, stream, connection) = (Int32(0), Int32(0), UInt64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: shard = try field.exactly()
            case 2: stream = try field.exactly()
            case 3: connection = try field.uint64()
            default: break
            }
        }
        self.init(shard: shard, stream: stream, connection: connection)
    }
}

extension Notification {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, identity)
        output.appendField(2, device)
        output.appendField(3, UInt64(registration.value))
        output.appendField(4, topic.text)
        if let pushType { output.appendField(5, pushType.rawValue) }
        output.appendField(6, UInt64(priority.rawValue))
        output.appendPresentField(7, expiration.milliseconds)
        if let collapseIdentifier { output.appendElement(8, collapseIdentifier) }
        output.appendField(9, payload)
        output.appendField(10, UInt64(bitPattern: acceptedAt.milliseconds))
        if let uniqueIdentity { output.appendField(11, uniqueIdentity) }
        if let proof { output.appendField(12, message: proof.encode) }
        if let callback { output.appendElement(13, callback) }
        if let traceContext { output.appendField(14, message: traceContext.encode) }
    }

    convenience init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, uniqueIdentity) = (NotificationIdentity?.none, NotificationIdentity?.none)
        var (device, topic) = (DeviceIdentity?.none, Topic?.none)
        var registration = RegistrationNumber(0)
        var (pushType, priority) = (PushType?.none, Priority?.none)
        var expiration = Expiration.nowOrNever
        var collapseIdentifier: String?
        var payload: [UInt8] = []
        var acceptedAt = Moment(milliseconds: 0)
        var (proof, callback, traceContext) = (ProviderProof?.none, String?.none, TraceContext?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.notificationIdentity(in: bytes)
            case 2: device = try field.device(in: bytes)
            case 3: registration = RegistrationNumber(try field.exactly())
            case 4: topic = try field.topic(in: bytes)
            case 5: pushType = try field.pushType(in: bytes)
            case 6: priority = try field.priority()
            case 7: expiration = .at(Moment(milliseconds: try field.int64()))
            case 8: collapseIdentifier = try field.text(in: bytes, limit: Limits.collapseIdentifierBytes)
            case 9: payload = try field.bytes(in: bytes, atMost: Limits.voipPayloadBytes)
            case 10: acceptedAt = Moment(milliseconds: try field.int64())
            case 11: uniqueIdentity = try field.notificationIdentity(in: bytes)
            case 12: proof = try ProviderProof(decoding: bytes.extracting(try field.range()))
            case 13: callback = try field.text(in: bytes, limit: Limits.callbackURLBytes)
            case 14: traceContext = try TraceContext.decode(bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let identity, let device, let topic, let priority else {
            throw .missingChoice(of: "Notification", fields: "identity, device, topic and priority, all four")
        }
        self.init(
            identity: identity, device: device, registration: registration, topic: topic, pushType: pushType,
            priority: priority, expiration: expiration, collapseIdentifier: collapseIdentifier,
            payload: payload, acceptedAt: acceptedAt, uniqueIdentity: uniqueIdentity, proof: proof,
            callback: callback, traceContext: traceContext)
    }
}

extension [UInt8] {
    /// Appends an identity as a bytes field.
    mutating func appendField(_ number: UInt64, _ identity: NotificationIdentity) {
        appendField(number, identity.high, identity.low)
    }

    /// Appends an identity as a bytes field.
    mutating func appendField(_ number: UInt64, _ device: DeviceIdentity) {
        appendField(number, device.high, device.low)
    }
}

extension Broadcast {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, identity)
        output.appendField(2, channel.bytes)
        output.appendField(3, topic.text)
        output.appendField(4, payload)
        output.appendField(5, UInt64(priority.rawValue))
        output.appendPresentField(6, expiration.milliseconds)
        output.appendField(7, pushType.rawValue)
        output.appendField(8, UInt64(bitPattern: acceptedAt.milliseconds))
        if let traceContext { output.appendField(9, message: traceContext.encode) }
    }

    convenience init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, channel) = (NotificationIdentity?.none, ChannelIdentity?.none)
        var (topic, pushType, priority) = (Topic?.none, PushType?.none, Priority?.none)
        var payload: [UInt8] = []
        var expiration = Expiration.nowOrNever
        var (acceptedAt, traceContext) = (Moment(milliseconds: 0), TraceContext?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.notificationIdentity(in: bytes)
            case 2: channel = try field.channel(in: bytes)
            case 3: topic = try field.topic(in: bytes)
            case 4: payload = try field.bytes(in: bytes, atMost: Limits.broadcastPayloadBytes)
            case 5: priority = try field.priority()
            case 6: expiration = .at(Moment(milliseconds: try field.int64()))
            case 7: pushType = try field.pushType(in: bytes)
            case 8: acceptedAt = Moment(milliseconds: try field.int64())
            case 9: traceContext = try TraceContext.decode(bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let identity, let channel, let topic, let pushType, let priority else {
            throw .missingChoice(
                of: "Broadcast", fields: "identity, channel, topic, push_type and priority, all five")
        }
        self.init(
            identity: identity, channel: channel, topic: topic, payload: payload, priority: priority,
            expiration: expiration, pushType: pushType, acceptedAt: acceptedAt, traceContext: traceContext)
    }
}

extension ProviderProof {
    func encode(into output: inout [UInt8]) {
        switch self {
        case .key(let identifier): output.appendElement(1, identifier)
        case .certificate: output.appendField(2, 1)
        }
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var proof: ProviderProof?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: proof = .key(try field.text(in: bytes, limit: Limits.keyIdentifierBytes))
            case 2: if try field.uint64() != 0 { proof = .certificate }
            default: break
            }
        }
        guard let proof else { throw .missingChoice(of: "ProviderProof", fields: "key and certificate") }
        self = proof
    }
}

extension Expiration {
    /// The moment; nil, which is not encoded, for a push that is not stored.
    fileprivate var milliseconds: Int64? {
        if case .at(let moment) = self { moment.milliseconds } else { nil }
    }
}

extension ProtobufReader.Field {
    /// The content as an integer that fits.
    func exactly<Number: FixedWidthInteger>() throws(CourierError) -> Number {
        guard let value = Number(exactly: try uint64()) else { throw .unknownValue(field: number) }
        return value
    }

    /// The content as bytes of limited length.
    func bytes(in message: Span<UInt8>, atMost limit: Int) throws(CourierError) -> [UInt8] {
        guard try range().count <= limit else { throw .textTooLong(field: number, limit: limit) }
        return try bytes(in: message)
    }

    func notificationIdentity(in message: Span<UInt8>) throws(CourierError)
        -> NotificationIdentity
    {
        let words = try words(in: message, UInt64.self)
        return NotificationIdentity(high: words.high, low: words.low)
    }

    func device(in message: Span<UInt8>) throws(CourierError) -> DeviceIdentity {
        let words = try words(in: message, UInt32.self)
        return DeviceIdentity(high: words.high, low: words.low)
    }

    /// The content as two words, the most significant byte first, of which the first has eight bytes.
    private func words<Low: FixedWidthInteger>(
        in message: Span<UInt8>, _: Low.Type
    ) throws(CourierError) -> (high: UInt64, low: Low) {
        let content = message.extracting(try range())
        let count = (UInt64.bitWidth + Low.bitWidth) / 8
        guard content.count == count else { throw .wrongLength(field: number, expected: count) }
        var (high, low) = (UInt64(0), Low(0))
        for index in 0..<8 { high = high << 8 | UInt64(content[index]) }
        for index in 8..<count { low = low << 8 | Low(content[index]) }
        return (high, low)
    }

    func topic(in message: Span<UInt8>) throws(CourierError) -> Topic {
        guard let topic = Topic(try text(in: message, limit: Limits.topicBytes)) else {
            throw .unknownValue(field: number)
        }
        return topic
    }

    fileprivate func pushType(in message: Span<UInt8>) throws(CourierError) -> PushType {
        guard let type = PushType(rawValue: try text(in: message)) else {
            throw .unknownValue(field: number)
        }
        return type
    }

    func priority() throws(CourierError) -> Priority {
        guard let priority = Priority(rawValue: try exactly()) else { throw .unknownValue(field: number) }
        return priority
    }

    func rejection(in message: Span<UInt8>) throws(CourierError) -> Rejection {
        guard let rejection = Rejection(rawValue: try text(in: message)) else {
            throw .unknownValue(field: number)
        }
        return rejection
    }
}
