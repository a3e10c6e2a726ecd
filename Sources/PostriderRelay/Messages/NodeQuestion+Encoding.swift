import PostriderCourier
import PostriderNotifications
import PostriderProviderAPI

extension NodeQuestion {
    func encode(into output: inout [UInt8]) {
        switch self {
        case .status: output.appendField(1, 1)
        case .labels(let texts):
            output.appendField(2) { output in
                for text in texts { output.appendElement(1, text) }
            }
        case .devices(let query): output.appendElement(3, query)
        case .change(let device, let body):
            output.appendField(4) { output in
                output.appendField(1, device)
                output.appendField(2, body)
            }
        case .remove(let device): output.appendField(5, device)
        case .trace(let query): output.appendElement(6, query)
        case .successors(let devices):
            output.appendField(14) { output in
                for device in devices { output.appendField(1, message: device.encode) }
            }
        case .heir(let name): output.appendElement(15, name.text)
        case .inherit(let name, let device):
            output.appendField(16) { output in
                output.appendField(1, name.text)
                output.appendField(2, device)
            }
        case .history: output.appendField(17, 1)
        case .readAccess: output.appendField(11, 1)
        case .deviceEvents(let cursor): output.appendElement(12, cursor)
        case .traceEvents(let rows):
            output.appendField(13) { output in
                for row in rows { output.appendField(1, message: row.encode) }
            }
        case .progress(let inquiry): output.appendField(7, message: inquiry.encode)
        case .lookUp(let lookup): output.appendField(8, message: lookup.encode)
        case .channels(let query): output.appendElement(9, query)
        case .subscribers(let channels):
            output.appendField(10) { output in
                for channel in channels { output.appendField(1, channel.bytes) }
            }
        }
    }

    /// Decodes a question; nil if it is one of a later version.
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> NodeQuestion? {
        var reader = ProtobufReader()
        var question: NodeQuestion?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: if try field.uint64() != 0 { question = .status }
            case 2: question = .labels(try texts(bytes.extracting(try field.range())))
            case 3: question = .devices(query: try field.text(in: bytes))
            case 4: question = try change(bytes.extracting(try field.range()))
            case 5: question = .remove(try field.device(in: bytes))
            case 11: if try field.uint64() != 0 { question = .readAccess }
            case 12: question = .deviceEvents(after: try field.text(in: bytes))
            case 14: question = .successors(try AbsentDevice.decode(bytes.extracting(try field.range())))
            case 15: question = .heir(try field.known(DeviceName.init, in: bytes))
            case 16: question = try inheritance(bytes.extracting(try field.range()))
            case 17: if try field.uint64() != 0 { question = .history }
            case 13: question = .traceEvents(try rows(bytes.extracting(try field.range())))
            case 6: question = .trace(query: try field.text(in: bytes))
            case 7: question = .progress(try PushInquiry(decoding: bytes.extracting(try field.range())))
            case 8: question = .lookUp(try DeviceLookup(decoding: bytes.extracting(try field.range())))
            case 9: question = .channels(query: try field.text(in: bytes))
            case 10: question = .subscribers(try channels(bytes.extracting(try field.range())))
            default: break
            }
        }
        return question
    }

    private static func inheritance(_ bytes: Span<UInt8>) throws(CourierError) -> NodeQuestion {
        var reader = ProtobufReader()
        var (name, device) = (DeviceName?.none, DeviceIdentity?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: name = try field.known(DeviceName.init, in: bytes)
            case 2: device = try field.device(in: bytes)
            default: break
            }
        }
        guard let name else { throw .missingChoice(of: "Inheritance", fields: "name") }
        guard let device else { throw .missingChoice(of: "Inheritance", fields: "device") }
        return .inherit(name, by: device)
    }

    private static func texts(_ bytes: Span<UInt8>) throws(CourierError) -> [String] {
        var reader = ProtobufReader()
        var texts: [String] = []
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { texts.append(try field.text(in: bytes)) }
        }
        return texts
    }

    private static func channels(_ bytes: Span<UInt8>) throws(CourierError) -> [ChannelIdentity] {
        var reader = ProtobufReader()
        var channels: [ChannelIdentity] = []
        while let field = try reader.next(in: bytes) {
            if field.number == 1 { channels.append(try field.channel(in: bytes)) }
        }
        return channels
    }

    private static func rows(_ bytes: Span<UInt8>) throws(CourierError) -> [TracedRow] {
        var reader = ProtobufReader()
        var rows: [TracedRow] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            guard rows.count < Limits.tracedPushes else { throw .unknownValue(field: 1) }
            rows.append(try TracedRow(decoding: bytes.extracting(try field.range())))
        }
        return rows
    }

    private static func change(_ bytes: Span<UInt8>) throws(CourierError) -> NodeQuestion {
        var reader = ProtobufReader()
        var (device, body) = (DeviceIdentity?.none, [UInt8]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: device = try field.device(in: bytes)
            case 2: body = try field.bytes(in: bytes)
            default: break
            }
        }
        guard let device else { throw .missingChoice(of: "DeviceChange", fields: "device") }
        return .change(device, body)
    }
}

extension PushInquiry {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, identity)
        output.appendField(2, wait.stage.rawValue)
        output.appendField(3, UInt64(wait.seconds))
        if let topic { output.appendField(4, topic.text) }
        output.appendPresentField(5, (environment?.protobufValue).map(Int64.init))
        if let known { output.appendField(6, message: known.encode) }
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, stage, seconds) = (NotificationIdentity?.none, PushProgress.Stage?.none, 0)
        var (topic, environment, known) = (Topic?.none, Environment?.none, TracedRow?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.notificationIdentity(in: bytes)
            case 2: stage = PushProgress.Stage(rawValue: try field.text(in: bytes))
            case 3: seconds = min(Limits.waitSeconds.most, try field.exactly())
            case 4: topic = try field.topic(in: bytes)
            case 5: environment = try field.environment()
            case 6: known = try TracedRow(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        guard let identity, let stage else {
            throw .missingChoice(of: "PushInquiry", fields: "identity and stage, both")
        }
        self.init(
            identity: identity, wait: PushWait(for: stage, seconds: seconds), topic: topic,
            environment: environment, known: known)
    }
}

extension TracedRow {
    func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(bitPattern: row.value))
        output.appendField(2, identity)
        if let device { output.appendField(3, device) }
        output.appendField(4, UInt64(bitPattern: acceptedAt.milliseconds))
    }

    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (row, acceptedAt) = (Int64(0), Int64(0))
        var (identity, device) = (NotificationIdentity?.none, DeviceIdentity?.none)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: row = try field.int64()
            case 2: identity = try field.notificationIdentity(in: bytes)
            case 3: device = try field.device(in: bytes)
            case 4: acceptedAt = try field.int64()
            default: break
            }
        }
        guard let identity else { throw .missingChoice(of: "TracedRow", fields: "identity") }
        self.init(
            row: QueueRow(row), identity: identity, device: device,
            acceptedAt: Moment(milliseconds: acceptedAt))
    }
}

extension DeviceLookup {
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, topic.text)
        output.appendField(2, environment.protobufValue)
        for name in names { output.appendElement(3, name.text) }
        for tag in tags.sorted() { output.appendElement(4, tag.text) }
        output.appendField(5, isAll ? 1 : 0)
        if let after { output.appendElement(6, after.text) }
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (topic, environment, after) = (Topic?.none, Environment.production, DeviceName?.none)
        var (names, tags, isAll) = ([DeviceName](), Set<DeviceTag>(), false)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.topic(in: bytes)
            case 2: environment = try field.environment()
            case 3: names.append(try field.known(DeviceName.init, in: bytes))
            case 4: tags.insert(try field.known(DeviceTag.init, in: bytes))
            case 5: isAll = try field.uint64() != 0
            case 6: after = try field.known(DeviceName.init, in: bytes)
            default: break
            }
        }
        guard let topic else { throw .missingChoice(of: "DeviceLookup", fields: "topic") }
        // The node of the provider has counted the question for its key.
        self.init(key: "", topic: topic, environment: environment)
        (self.names, self.tags, self.isAll, self.after) = (names, tags, isAll, after)
    }
}

extension ProtobufReader.Field {
    /// The text as a value that has a rule of its own.
    fileprivate func known<Value>(
        _ make: (String) -> Value?, in message: Span<UInt8>
    ) throws(CourierError) -> Value {
        guard let value = make(try text(in: message)) else { throw .unknownValue(field: number) }
        return value
    }
}
