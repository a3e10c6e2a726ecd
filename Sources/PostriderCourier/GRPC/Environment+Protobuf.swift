import PostriderNotifications

/// The environment on the wire: the enum `Environment` of `courier.proto`. Without the field it is production.
extension Environment {
    /// Its number.
    var protobufValue: UInt64 {
        switch self {
        case .production: 0
        case .development: 1
        }
    }
}

extension ProtobufReader.Field {
    /// The content as an environment. A later version may know more of them; none of those is one that this version
    /// can stand for.
    func environment() throws(CourierError) -> Environment {
        switch try uint64() {
        case 0: return .production
        case 1: return .development
        default: throw .unknownValue(field: number)
        }
    }
}

/// A wish for a registration (`Register`).
enum RegisterMessage {
    static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> (topic: String, environment: Environment)
    {
        var reader = ProtobufReader()
        var (topic, environment) = ("", Environment.production)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: topic = try field.text(in: bytes)
            case 2: environment = try field.environment()
            default: break
            }
        }
        return (topic, environment)
    }

    static func encode(_ topic: String, _ environment: Environment, into output: inout [UInt8]) {
        output.appendField(1, topic)
        output.appendField(2, environment.protobufValue)
    }
}
