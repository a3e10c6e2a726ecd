public import PostriderNotifications

/// What a device sends once in its life: `EnrollRequest`.
public struct EnrollRequest: CourierMessage {
    /// The key that the operator handed out; at most ``Notifications/Limits/courierTextBytes`` bytes.
    public let enrolmentKey: String
    /// What the device calls itself, for the operator's eyes; at most
    /// ``Notifications/Limits/courierTextBytes`` bytes.
    public let name: String
    /// Words by which the operator groups devices; at most ``Notifications/Limits/tagsPerDevice``.
    public let tags: [String]

    /// A request from its parts.
    public init(enrolmentKey: String, name: String, tags: [String] = []) {
        self.enrolmentKey = enrolmentKey
        self.name = name
        self.tags = tags
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (enrolmentKey, name, tags) = ("", "", [String]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: enrolmentKey = try field.text(in: bytes, limit: Limits.courierTextBytes)
            case 2: name = try field.text(in: bytes, limit: Limits.courierTextBytes)
            case 3: tags.append(try field.text(in: bytes, limit: Limits.courierTextBytes))
            default: break
            }
        }
        self.init(enrolmentKey: enrolmentKey, name: name, tags: tags)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, enrolmentKey)
        output.appendField(2, name)
        for tag in tags { output.appendElement(3, tag) }
    }
}

/// What the device gets for it: `EnrollResponse`.
public struct EnrollResponse: CourierMessage {
    /// Who the device is from now on.
    public let deviceIdentity: DeviceIdentity
    /// The 32 random bytes with which it proves that; the relay keeps only their digest.
    public let deviceSecret: [UInt8]

    /// A response from its parts.
    public init(deviceIdentity: DeviceIdentity, deviceSecret: [UInt8]) {
        precondition(deviceSecret.count == Limits.deviceSecretBytes, "a device secret has 32 bytes")
        self.deviceIdentity = deviceIdentity
        self.deviceSecret = deviceSecret
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, secret) = ([UInt8](), [UInt8]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.bytes(in: bytes)
            case 2: secret = try field.bytes(in: bytes)
            default: break
            }
        }
        self.init(
            deviceIdentity: try DeviceIdentity(field: 1, identity),
            deviceSecret: try checkedSecret(field: 2, secret)
        )
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, deviceIdentity.bytes)
        output.appendField(2, deviceSecret)
    }
}

/// The first message of a connection: who calls (`Hello`).
public struct Hello: CourierMessage {
    /// Who the device says it is.
    public let deviceIdentity: DeviceIdentity
    /// The 32 bytes that prove it.
    public let deviceSecret: [UInt8]
    /// Seconds between the PINGs that the device wishes to send; 0 leaves it to the relay.
    public let keepaliveSeconds: UInt32
    /// Program and version of the device's side, for the operator; at most
    /// ``Notifications/Limits/courierTextBytes`` bytes.
    public let agent: String
    /// How it wants to be sent what waits for it; what waited before the hello, too.
    public internal(set) var reception: Reception
    /// A number that the device's process drew when it started, by which the relay tells a device that comes back from
    /// a second machine with the same identity; 0 if unknown.
    public let processInstance: UInt64

    /// A hello from its parts.
    public init(
        deviceIdentity: DeviceIdentity, deviceSecret: [UInt8], keepaliveSeconds: UInt32, agent: String,
        reception: Reception = .usual, processInstance: UInt64 = 0
    ) {
        precondition(deviceSecret.count == Limits.deviceSecretBytes, "a device secret has 32 bytes")
        self.deviceIdentity = deviceIdentity
        self.deviceSecret = deviceSecret
        self.keepaliveSeconds = keepaliveSeconds
        self.agent = agent
        self.reception = reception
        self.processInstance = processInstance
    }

    /// The keepalive that a relay grants: the wished one within ``Notifications/Limits/keepaliveSeconds``,
    /// the usual one where none was wished.
    public var grantedKeepaliveSeconds: UInt32 {
        let bounds = Limits.keepaliveSeconds
        guard keepaliveSeconds != 0 else { return UInt32(bounds.usual) }
        return min(max(keepaliveSeconds, UInt32(bounds.least)), UInt32(bounds.most))
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identity, secret) = ([UInt8](), [UInt8]())
        var keepaliveSeconds: UInt32 = 0
        var agent = ""
        var reception = Reception.usual
        var processInstance: UInt64 = 0
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identity = try field.bytes(in: bytes)
            case 2: secret = try field.bytes(in: bytes)
            case 3: keepaliveSeconds = try field.uint32()
            case 4: agent = try field.text(in: bytes, limit: Limits.courierTextBytes)
            case 5: reception = try Reception(decoding: bytes.extracting(try field.range()))
            case 6: processInstance = try field.uint64()
            default: break
            }
        }
        self.init(
            deviceIdentity: try DeviceIdentity(field: 1, identity),
            deviceSecret: try checkedSecret(field: 2, secret),
            keepaliveSeconds: keepaliveSeconds,
            agent: agent,
            reception: reception,
            processInstance: processInstance
        )
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, deviceIdentity.bytes)
        output.appendField(2, deviceSecret)
        output.appendField(3, UInt64(keepaliveSeconds))
        output.appendField(4, agent)
        if reception != .usual { output.appendField(5, message: reception.encode) }
        output.appendField(6, processInstance)
    }
}

extension DeviceIdentity {
    fileprivate init(field: UInt32, _ bytes: [UInt8]) throws(CourierError) {
        guard let identity = DeviceIdentity(bytes: bytes) else {
            throw .wrongLength(field: field, expected: Self.byteCount)
        }
        self = identity
    }
}

private func checkedSecret(field: UInt32, _ bytes: [UInt8]) throws(CourierError) -> [UInt8] {
    guard bytes.count == Limits.deviceSecretBytes else {
        throw .wrongLength(field: field, expected: Limits.deviceSecretBytes)
    }
    return bytes
}
