import PostriderNotifications

/// How a device wants to get its notifications (`Reception`). It is sent as a whole: in the hello, and again whenever
/// it changes. A topic in neither list is enabled.
public struct Reception: CourierMessage {
    /// Whether the relay groups notifications whose priority considers the device's power.
    public let savesPower: Bool
    /// Topics whose notifications are sent only while the device is awake anyway.
    public let opportunistic: [String]
    /// Topics whose notifications are not sent.
    public let ignored: [String]
    /// The charge of the device's battery in percent, for the operator; nil if it has none, or does not know.
    public let batteryPercent: Int?

    /// The default: everything is sent at once.
    public static let usual = Reception()

    /// The most bytes of a reception. With everything else in a hello, it stays below
    /// ``Notifications/Limits/deviceMessageBytes``.
    private static let byteLimit = Limits.deviceMessageBytes - 1024

    /// Creates a reception from its parts. Topics that do not fit into one message are left out, opportunistic ones
    /// first: they are then enabled, so that the device gets more than it asked for instead of less.
    public init(
        savesPower: Bool = false, opportunistic: [String] = [], ignored: [String] = [],
        batteryPercent: Int? = nil
    ) {
        var bytes = 0
        var left = Limits.registrationsPerDevice
        func fits(_ topic: String) -> Bool {
            bytes += topic.utf8.count + 3
            left -= 1
            return left >= 0 && bytes <= Self.byteLimit
        }
        self.savesPower = savesPower
        self.batteryPercent = batteryPercent.map { min(max($0, 0), 100) }
        self.ignored = Array(ignored.prefix(while: fits))
        self.opportunistic = Array(opportunistic.prefix(while: fits))
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var savesPower = false
        var battery: UInt64 = 0
        var (opportunistic, ignored) = ([String](), [String]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: savesPower = try field.uint64() != 0
            case 2: opportunistic.append(try field.text(in: bytes))
            case 3: ignored.append(try field.text(in: bytes))
            case 4: battery = try field.uint64()
            default: break
            }
        }
        guard opportunistic.count + ignored.count <= Limits.registrationsPerDevice else {
            throw .tooMany(field: 2, limit: Limits.registrationsPerDevice)
        }
        self.savesPower = savesPower
        batteryPercent = 1...101 ~= battery ? Int(battery) - 1 : nil
        self.opportunistic = opportunistic
        self.ignored = ignored
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, savesPower ? 1 : 0)
        for topic in opportunistic { output.appendElement(2, topic) }
        for topic in ignored { output.appendElement(3, topic) }
        // One more than the percentage: 0 is a battery of which nothing is known.
        output.appendField(4, batteryPercent.map { UInt64($0) + 1 } ?? 0)
    }
}
