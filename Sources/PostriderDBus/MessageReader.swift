import CPostriderSystemd

/// Reads the values of a libsystemd message. libsystemd has checked that it is well formed, including its depth.
@safe struct MessageReader {
    private let message: OpaquePointer
    /// How many more values may be read.
    private var room: Int

    init(_ message: OpaquePointer, mostValues: Int) {
        unsafe self.message = message
        room = mostValues
    }

    /// Appends the remaining values of the message, or of the container that was entered last, up to the first value
    /// that cannot be read.
    mutating func read(into values: inout [BusValue]) throws(BusError) {
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let result = unsafe sd_bus_message_peek_type(message, &type, &contents)
            guard result > 0 else {
                return try Self.check(result)
            }
            room -= 1
            guard room >= 0 else { throw .tooLarge }
            let inner = unsafe contents.map { unsafe String(cString: $0) } ?? ""
            values.append(try value(Character(Unicode.Scalar(UInt8(bitPattern: type))), inner))
        }
    }

    private mutating func value(_ type: Character, _ contents: String) throws(BusError) -> BusValue {
        switch type {
        case "b": return .boolean(try basic(type, Int32(0)) != 0)
        case "y": return .byte(try basic(type, 0))
        case "n": return .int16(try basic(type, 0))
        case "q": return .uint16(try basic(type, 0))
        case "i": return .int32(try basic(type, 0))
        case "u": return .uint32(try basic(type, 0))
        case "x": return .int64(try basic(type, 0))
        case "t": return .uint64(try basic(type, 0))
        case "d": return .double(try basic(type, 0))
        case "s": return .string(try text(type))
        case "o": return .objectPath(try text(type))
        case "g": return .signature(try text(type))
        case "h":
            guard let copy = BusDescriptor(copying: try basic(type, Int32(-1))) else { throw .overloaded }
            return .descriptor(copy)
        case "a": return .array(of: contents, try container(type, contents))
        case "r": return .structure(try container(type, contents))
        case "v", "e":
            let inner = try container(type, contents)
            if type == "v", inner.count == 1 { return .variant(inner[0]) }
            guard inner.count == 2 else { throw .malformed("a \(type) of \(contents)") }
            return .entry(inner[0], inner[1])
        default: throw .malformed("a value of type \(type)")
        }
    }

    private func basic<Number: BitwiseCopyable>(
        _ type: Character, _ initial: Number
    ) throws(BusError) -> Number {
        var number = initial
        let result = unsafe withUnsafeMutableBytes(of: &number) { bytes in
            unsafe sd_bus_message_read_basic(message, MessageWriter.code(type), bytes.baseAddress)
        }
        try Self.check(result)
        return number
    }

    private func text(_ type: Character) throws(BusError) -> String {
        var start: UnsafePointer<CChar>?
        let result = unsafe withUnsafeMutablePointer(to: &start) { place in
            unsafe sd_bus_message_read_basic(message, MessageWriter.code(type), place)
        }
        try Self.check(result)
        return unsafe start.map { unsafe String(cString: $0) } ?? ""
    }

    private mutating func container(_ type: Character, _ contents: String) throws(BusError) -> [BusValue] {
        try Self.check(
            unsafe sd_bus_message_enter_container(message, MessageWriter.code(type), contents))
        var inner: [BusValue] = []
        try read(into: &inner)
        try Self.check(unsafe sd_bus_message_exit_container(message))
        return inner
    }

    private static func check(_ result: Int32) throws(BusError) {
        guard result < 0 else { return }
        throw BusError(result, saying: "what was received")
    }
}
