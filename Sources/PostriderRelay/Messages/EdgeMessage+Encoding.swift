import PostriderCourier
import PostriderNotifications

extension EdgeMessage {
    /// Appends the message as a field of a ``ShardMessage``. Returns false for one that stays within a process.
    func encode(into output: inout [UInt8]) -> Bool {
        switch self {
        case .open(let hello, let host, let address):
            output.append(.edgeOpen, address) { output in
                output.appendField(2, message: hello.encode)
                output.appendField(3, host)
            }
        case .openBrowser(let hello, let host, let address):
            output.append(.edgeOpenBrowser, address) { output in
                output.appendField(2, hello.identity.text)
                output.appendField(3, host)
                output.appendField(4, hello.enrolmentKey)
            }
        case .said(let device, let message, let address):
            output.append(.edgeSaid, address) { output in
                output.appendField(2, device)
                output.appendField(3, message)
            }
        case .ended(let device, let ending, let address):
            output.append(.edgeEnded, address) { output in
                output.appendField(2, device)
                if let ending { output.appendField(3, ending.rawValue) }
            }
        case .say(let address, let frame, let isBroadcast):
            output.append(.edgeSay, address) { output in
                output.appendField(2, frame)
                output.appendField(3, isBroadcast ? 1 : 0)
            }
        case .finish(let address, let status, let detail):
            output.append(.edgeFinish, address) { output in
                output.appendPresentField(2, status.map { Int64($0.rawValue) })
                output.appendField(3, detail)
            }
        case .close(let address, let code, let reason):
            output.append(.edgeClose, address) { output in
                output.appendField(2, UInt64(code))
                output.appendField(3, reason)
            }
        case .refuse(let address, let detail):
            output.append(.edgeRefuse, address) { $0.appendField(2, detail) }
        case .linkEnded: return false
        }
        return true
    }

    /// Decodes a message of one of the kinds for devices at an edge.
    init(_ kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case .edgeOpen: self = try EdgeMessage(opening: bytes)
        case .edgeOpenBrowser: self = try EdgeMessage(openingBrowser: bytes)
        case .edgeSaid, .edgeEnded: self = try EdgeMessage(kind, aboutDevice: bytes)
        default: self = try EdgeMessage(kind, forEdge: bytes)
        }
    }

    private init(opening bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, hello, host) = (ReplyAddress?.none, Hello?.none, "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: hello = try Hello(decoding: bytes.extracting(try field.range()))
            case 3: host = try field.text(in: bytes, limit: Limits.hostBytes)
            default: break
            }
        }
        guard let address, let hello else {
            throw .missingChoice(of: "EdgeOpen", fields: "address and hello, both")
        }
        self = .open(hello, host: host, address)
    }

    private init(openingBrowser bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, identity) = (ReplyAddress?.none, WebIdentity?.none)
        var (host, key) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case 2: identity = WebIdentity(try field.text(in: bytes))
            case 3: host = try field.text(in: bytes, limit: Limits.hostBytes)
            case 4: key = try field.text(in: bytes, limit: Limits.webHeadBytes)
            default: break
            }
        }
        guard let address, let identity else {
            throw .missingChoice(of: "EdgeOpenBrowser", fields: "address and identity, both")
        }
        self = .openBrowser(BrowserHello(identity: identity, enrolmentKey: key), host: host, address)
    }

    private init(_ kind: ShardMessage.Kind, aboutDevice bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, device) = (ReplyAddress?.none, DeviceIdentity?.none)
        var (message, ending) = ([UInt8](), DevicePresence.Ending?.none)
        while let field = try reader.next(in: bytes) {
            switch (field.number, kind) {
            case (1, _): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case (2, _): device = try field.device(in: bytes)
            case (3, .edgeSaid):
                message = try field.bytes(
                    in: bytes, atMost: max(Limits.deviceMessageBytes, Limits.webMessageBytes))
            case (3, _):
                let text = try field.text(in: bytes)
                ending = DevicePresence.Ending(rawValue: text)
                guard text.isEmpty || ending != nil else { throw .unknownValue(field: 3) }
            default: break
            }
        }
        guard let address, let device else {
            throw .missingChoice(
                of: "a message about a device at an edge", fields: "address and device, both")
        }
        self = kind == .edgeSaid ? .said(device, message, address) : .ended(device, ending, address)
    }

    private init(_ kind: ShardMessage.Kind, forEdge bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, frame, isBroadcast) = (ReplyAddress?.none, [UInt8](), false)
        var (status, detail, code) = (GRPCStatus?.none, "", UInt16(0))
        while let field = try reader.next(in: bytes) {
            switch (field.number, kind) {
            case (1, _): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case (2, .edgeSay): frame = try field.bytes(in: bytes)
            case (3, .edgeSay): isBroadcast = try field.uint64() != 0
            case (2, .edgeFinish):
                status = GRPCStatus(rawValue: try field.exactly())
                guard status != nil else { throw .unknownValue(field: 2) }
            case (2, .edgeClose): code = try field.exactly()
            case (2, .edgeRefuse), (3, .edgeFinish), (3, .edgeClose): detail = try field.text(in: bytes)
            default: break
            }
        }
        guard let address else {
            throw .missingChoice(of: "a message to an edge", fields: "address")
        }
        self =
            switch kind {
            case .edgeSay: .say(address, frame, isBroadcast: isBroadcast)
            case .edgeFinish: .finish(address, status, detail)
            case .edgeClose: .close(address, code: code, detail)
            default: .refuse(address, detail)
            }
    }
}
