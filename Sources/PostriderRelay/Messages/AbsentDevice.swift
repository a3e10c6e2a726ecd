import PostriderCourier
import PostriderNotifications

/// A device that is away, for the question whether another one has taken its place.
struct AbsentDevice: Sendable, Equatable {
    let device: DeviceIdentity
    /// The key of the name that is closest to what it calls itself.
    let key: String
    /// When it was last seen.
    let since: Moment

    func encode(into output: inout [UInt8]) {
        output.appendField(1, device)
        output.appendField(2, key)
        output.appendField(3, UInt64(bitPattern: since.milliseconds))
    }

    /// Decodes the devices of a question.
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> [AbsentDevice] {
        var reader = ProtobufReader()
        var devices: [AbsentDevice] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            guard devices.count < Limits.absentDevicesAtOnce else { throw .unknownValue(field: 1) }
            devices.append(try AbsentDevice(decoding: bytes.extracting(try field.range())))
        }
        return devices
    }

    private init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (device, key, since) = (DeviceIdentity?.none, "", Int64(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: device = try field.device(in: bytes)
            case 2: key = try field.text(in: bytes)
            case 3: since = try field.int64()
            default: break
            }
        }
        guard let device else { throw .missingChoice(of: "AbsentDevice", fields: "device") }
        (self.device, self.key, self.since) = (device, key, Moment(milliseconds: since))
    }

    init(device: DeviceIdentity, key: String, since: Moment) {
        (self.device, self.key, self.since) = (device, key, since)
    }
}
