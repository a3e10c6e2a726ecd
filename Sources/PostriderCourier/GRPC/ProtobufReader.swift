import PostriderNotifications

/// Iterates over the fields of one proto3 message. Every call gets the bytes of the message, because a span cannot be
/// stored; they must be the same each time.
///
/// A tag is `field number << 3 | wire type`; a varint has seven bits in each byte, least significant first
/// (protobuf.dev, "Encoding").
package struct ProtobufReader {
    /// One field: its number and its value.
    package struct Field {
        package let number: UInt32
        let value: Value
    }

    /// The value of a field, by wire type.
    enum Value {
        case varint(UInt64)
        /// The range of the content.
        case delimited(Range<Int>)
        /// Four or eight bytes in little-endian order.
        case fixed(UInt64)
    }

    private var position = 0

    /// A reader at the beginning of a message.
    package init() {}

    /// The next field; nil at the end.
    package mutating func next(in bytes: Span<UInt8>) throws(CourierError) -> Field? {
        guard position < bytes.count else { return nil }
        let tag = try varint(in: bytes)
        guard let number = UInt32(exactly: tag >> 3), (1..<1 << 29).contains(number) else {
            throw .invalidTag
        }
        switch tag & 7 {
        case 0: return Field(number: number, value: .varint(try varint(in: bytes)))
        case 1: return Field(number: number, value: try fixed(8, in: bytes))
        case 2: return Field(number: number, value: .delimited(try take(try varint(in: bytes), in: bytes)))
        case 3, 4: throw .group(field: number)
        case 5: return Field(number: number, value: try fixed(4, in: bytes))
        default: throw .invalidTag
        }
    }

    /// The next varint; nil at the end. It reads the elements of a packed field.
    mutating func nextVarint(in bytes: Span<UInt8>) throws(CourierError) -> UInt64? {
        guard position < bytes.count else { return nil }
        return try varint(in: bytes)
    }

    private mutating func varint(in bytes: Span<UInt8>) throws(CourierError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard position < bytes.count else { throw .truncated }
            let byte = bytes[position]
            position += 1
            guard shift < 63 || byte <= 1 else { throw .overlongVarint }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .overlongVarint
    }

    private mutating func take(_ count: UInt64, in bytes: Span<UInt8>) throws(CourierError) -> Range<Int> {
        guard count <= UInt64(bytes.count - position) else { throw .truncated }
        let start = position
        position += Int(count)
        return start..<position
    }

    private mutating func fixed(_ count: UInt64, in bytes: Span<UInt8>) throws(CourierError) -> Value {
        var value: UInt64 = 0
        for (place, index) in try take(count, in: bytes).enumerated() {
            value |= UInt64(bytes[index]) << UInt64(place * 8)
        }
        return .fixed(value)
    }
}

extension Span where Element == UInt8 {
    /// The integer in field 1 of a message that has no other field; 0 if it is left out.
    func firstInteger() throws(CourierError) -> UInt64 {
        var reader = ProtobufReader()
        var value: UInt64 = 0
        while let field = try reader.next(in: self) {
            if field.number == 1 { value = try field.uint64() }
        }
        return value
    }
}

extension ProtobufReader.Field {
    /// The content as a value of an enumeration; `present` if it is unknown.
    func choice<Choice: RawRepresentable>(or present: Choice) throws(CourierError) -> Choice
    where Choice.RawValue == UInt8 {
        UInt8(exactly: try uint64()).flatMap(Choice.init(rawValue:)) ?? present
    }

    /// The content as an unsigned integer of 64 bits.
    package func uint64() throws(CourierError) -> UInt64 {
        guard case .varint(let value) = value else { throw .wrongWireType(field: number) }
        return value
    }

    /// The content as an unsigned integer of 32 bits: the low 32 bits, as protobuf specifies.
    func uint32() throws(CourierError) -> UInt32 { UInt32(truncatingIfNeeded: try uint64()) }

    /// The content as a signed integer of 64 bits (`int64`, two's complement).
    package func int64() throws(CourierError) -> Int64 { Int64(bitPattern: try uint64()) }

    /// The content as a `double`.
    func double() throws(CourierError) -> Double {
        guard case .fixed(let bits) = value else { throw .wrongWireType(field: number) }
        return Double(bitPattern: bits)
    }

    /// The range of the content.
    package func range() throws(CourierError) -> Range<Int> {
        guard case .delimited(let range) = value else { throw .wrongWireType(field: number) }
        return range
    }

    /// The content as bytes.
    package func bytes(in message: Span<UInt8>) throws(CourierError) -> [UInt8] {
        let content = message.extracting(try range())
        return [UInt8](capacity: content.count) { output in
            for index in content.indices { output.append(content[index]) }
        }
    }

    /// The content as text of at most `limit` bytes.
    package func text(in message: Span<UInt8>, limit: Int = .max) throws(CourierError) -> String {
        let content = message.extracting(try range())
        guard content.count <= limit else { throw .textTooLong(field: number, limit: limit) }
        do {
            return String(copying: try UTF8Span(validating: content))
        } catch {
            throw .invalidText(field: number)
        }
    }

    /// Appends the elements of a `repeated uint64`, packed or not.
    func appendUInt64s(in message: Span<UInt8>, to values: inout [UInt64]) throws(CourierError) {
        switch value {
        case .varint(let value): values.append(value)
        case .delimited(let range):
            let content = message.extracting(range)
            var reader = ProtobufReader()
            while let value = try reader.nextVarint(in: content) { values.append(value) }
        case .fixed: throw .wrongWireType(field: number)
        }
    }
}
