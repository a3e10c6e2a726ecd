import CPostriderSystemd

/// Appends values to a libsystemd message.
@safe struct MessageWriter {
    private let message: OpaquePointer

    init(_ message: OpaquePointer) { unsafe self.message = message }

    func append(_ values: [BusValue]) throws(BusError) {
        for value in values { try append(value) }
    }

    private func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .boolean(let value): try basic("b", Int32(value ? 1 : 0))
        case .byte(let value): try basic("y", value)
        case .int16(let value): try basic("n", value)
        case .uint16(let value): try basic("q", value)
        case .int32(let value): try basic("i", value)
        case .uint32(let value): try basic("u", value)
        case .int64(let value): try basic("x", value)
        case .uint64(let value): try basic("t", value)
        case .double(let value): try basic("d", value)
        case .string(let value): try text("s", BusValue.carried(value))
        case .objectPath(let value): try text("o", value)
        case .signature(let value): try text("g", value)
        case .descriptor: throw .malformed("a descriptor")
        case .array(let element, let values): try container("a", element, values)
        case .entry(let key, let value): try container("e", key.signature + value.signature, [key, value])
        case .structure(let values): try container("r", values.map(\.signature).joined(), values)
        case .variant(let value): try container("v", value.signature, [value])
        }
    }

    private func basic(_ type: Character, _ value: some BitwiseCopyable) throws(BusError) {
        var value = value
        let result = unsafe withUnsafeBytes(of: &value) { bytes in
            unsafe sd_bus_message_append_basic(message, Self.code(type), bytes.baseAddress)
        }
        guard result >= 0 else { throw BusError(result, saying: "a value of type \(type)") }
    }

    private func text(_ type: Character, _ text: String) throws(BusError) {
        guard !text.utf8.contains(0) else { throw .malformed("a name with a zero byte") }
        let result = unsafe text.withCString { start in
            unsafe sd_bus_message_append_basic(message, Self.code(type), start)
        }
        guard result >= 0 else { throw BusError(result, saying: "a text of type \(type)") }
    }

    private func container(_ type: Character, _ contents: String, _ values: [BusValue]) throws(BusError) {
        var result = unsafe sd_bus_message_open_container(message, Self.code(type), contents)
        guard result >= 0 else { throw BusError(result, saying: "a \(type) of \(contents)") }
        try append(values)
        result = unsafe sd_bus_message_close_container(message)
        guard result >= 0 else { throw BusError(result, saying: "a \(type) of \(contents)") }
    }

    static func code(_ type: Character) -> CChar { CChar(type.asciiValue ?? 0) }
}
