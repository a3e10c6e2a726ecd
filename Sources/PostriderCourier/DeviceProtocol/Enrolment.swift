public import PostriderNotifications

/// The request that a device sends once, to enrol (`EnrollRequest`).
public struct EnrollRequest: CourierMessage {
    /// The enrolment key from the operator; at most ``Notifications/Limits/courierTextBytes`` bytes.
    public let enrolmentKey: String
    /// The name of the device, for the operator; at most ``Notifications/Limits/courierTextBytes`` bytes.
    public let name: String
    /// Tags by which the operator groups devices; at most ``Notifications/Limits/tagsPerDevice``.
    public let tags: [String]

    /// Creates a request from its parts.
    public init(enrolmentKey: String, name: String, tags: [String] = []) {
        self.enrolmentKey = enrolmentKey
        self.name = name
        self.tags = tags
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, enrolmentKey)
        output.appendField(2, name)
        for tag in tags { output.appendElement(3, tag) }
    }
}

/// The relay's answer to an enrolment: `EnrollResponse`.
public struct EnrollResponse: CourierMessage {
    /// The identity of the device from now on.
    public let deviceIdentity: DeviceIdentity
    /// The device's secret: 32 random bytes that prove its identity. The relay keeps only their digest.
    public let deviceSecret: [UInt8]

    /// Creates a response from its parts.
    public init(deviceIdentity: DeviceIdentity, deviceSecret: [UInt8]) {
        precondition(deviceSecret.count == Limits.deviceSecretBytes, "a device secret has 32 bytes")
        self.deviceIdentity = deviceIdentity
        self.deviceSecret = deviceSecret
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, deviceIdentity.bytes)
        output.appendField(2, deviceSecret)
    }
}

/// The first message of a device on a stream (`Hello`).
public struct Hello: CourierMessage {
    /// The identity that the device claims.
    public let deviceIdentity: DeviceIdentity
    /// The 32 bytes that prove it.
    public let deviceSecret: [UInt8]
    /// Seconds between PINGs, as the device wishes; 0 leaves the choice to the relay.
    public let keepaliveSeconds: UInt32
    /// Program and version of the device's agent, for the operator; at most ``Notifications/Limits/courierTextBytes``
    /// bytes.
    public let agent: String
    /// How the device wants to get its notifications, including those that are already queued.
    public internal(set) var reception: Reception
    /// A random number that the device's process drew at its start; 0 if unknown. By it the relay distinguishes a
    /// device that reconnects from a second machine with the same identity.
    public let processInstance: UInt64

    /// Creates a hello from its parts.
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

    /// The keepalive interval that a relay grants: the wished one, clamped to
    /// ``Notifications/Limits/keepaliveSeconds``, or the default if the device wished none.
    public var grantedKeepaliveSeconds: UInt32 {
        let bounds = Limits.keepaliveSeconds
        guard keepaliveSeconds != 0 else { return UInt32(bounds.usual) }
        return min(max(keepaliveSeconds, UInt32(bounds.least)), UInt32(bounds.most))
    }

    /// Decodes the message.
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

    /// Appends the encoded message.
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
