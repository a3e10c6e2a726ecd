package import PostriderNotifications

/// The encoding of an environment: the enum `Environment` of `courier.proto`. A missing field means production.
extension Environment {
    /// The number of the environment.
    package var protobufValue: UInt64 {
        switch self {
        case .production: 0
        case .development: 1
        }
    }
}

extension ProtobufReader.Field {
    /// The content of the field as an environment. An unknown value, which a later version may send, is an error,
    /// because no known environment can stand for it.
    package func environment() throws(CourierError) -> Environment {
        switch try uint64() {
        case 0: return .production
        case 1: return .development
        default: throw .unknownValue(field: number)
        }
    }
}

/// The encoding of a registration request (`Register`).
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
