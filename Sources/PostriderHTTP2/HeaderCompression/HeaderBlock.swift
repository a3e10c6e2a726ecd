/// A flat, reusable list of header fields: one run of bytes and the offsets in it.
///
/// A connection decodes every header block into the same one, and a handler fills one of its own for every answer. So a
/// request allocates nothing once these blocks have grown to their usual size.
public struct HeaderBlock: Sendable {
    @usableFromInline
    struct Field: Sendable {
        @usableFromInline var start: UInt32
        @usableFromInline var nameEnd: UInt32
        @usableFromInline var valueEnd: UInt32
        var isIndexed: Bool
    }

    @usableFromInline var bytes = ByteRun()
    @usableFromInline var fields: [Field] = []

    /// An empty block.
    public init() {}

    /// How many fields there are.
    public var count: Int { fields.count }

    /// The size of the list as RFC 9113, section 6.5.2 counts it: names, values and 32 bytes for each field.
    public var listBytes: Int { bytes.count + 32 * fields.count }

    /// Empties the block and keeps its memory.
    public mutating func removeAll() {
        bytes.removeAll()
        fields.removeAll(keepingCapacity: true)
    }

    /// Frees the memory of an unusually large block.
    public mutating func giveBackMemory() {
        guard bytes.room.count > Self.keptBytes || fields.capacity > Self.keptFields else { return }
        self = HeaderBlock()
    }

    private static let keptBytes = 2048
    private static let keptFields = 64

    /// Adds a field. Names are lower case (RFC 9113, section 8.2), pseudo-header fields come first.
    public mutating func add(_ name: StaticString, _ value: Span<UInt8>) {
        append(name)
        bytes.append(value)
        endField(nameBytes: name.utf8CodeUnitCount, isIndexed: true)
    }

    /// Adds a field whose value is known at compile time.
    public mutating func add(_ name: StaticString, _ value: StaticString) {
        append(name)
        append(value)
        endField(nameBytes: name.utf8CodeUnitCount, isIndexed: true)
    }

    /// Adds a field from a string; not for the hot path.
    @_disfavoredOverload
    public mutating func add(_ name: String, _ value: String) {
        bytes.append(name.utf8Span.span)
        bytes.append(value.utf8Span.span)
        endField(nameBytes: name.utf8.count, isIndexed: true)
    }

    /// Adds a field as a literal that never enters an HPACK table, because its value differs each time (`apns-id`) or
    /// is a secret (`authorization`); RFC 7541, section 7.1.3.
    public mutating func addUnindexed(_ name: StaticString, _ value: Span<UInt8>) {
        add(name, value, isIndexed: false)
    }

    /// Adds a field. `isIndexed`: it may enter the HPACK table.
    public mutating func add(_ name: StaticString, _ value: Span<UInt8>, isIndexed: Bool) {
        append(name)
        bytes.append(value)
        endField(nameBytes: name.utf8CodeUnitCount, isIndexed: isIndexed)
    }

    /// Adds a field as text that never enters an HPACK table.
    public mutating func addUnindexed(_ name: String, _ value: String) {
        add(name, value)
        fields[fields.count - 1].isIndexed = false
    }

    /// Overwrites a part of a field's value, so that many blocks can be sent which differ in a few bytes.
    ///
    /// - Parameters:
    ///   - field: the index of the field, from 0.
    ///   - offset: where in its value; the new bytes must end within it.
    public mutating func overwrite(_ field: Int, at offset: Int, with part: Span<UInt8>) {
        let start = Int(fields[field].nameEnd) + offset
        precondition(start + part.count <= Int(fields[field].valueEnd), "a value keeps its length")
        bytes.overwrite(at: start, with: part)
    }

    /// Calls `body` for each field in its order. Nothing is copied: the spans are valid during the call only.
    public func forEach(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
        let all = bytes.room.span
        for field in fields {
            body(
                all.extracting(Int(field.start)..<Int(field.nameEnd)),
                all.extracting(Int(field.nameEnd)..<Int(field.valueEnd)))
        }
    }

    /// The names and values of all fields, one after the other; ``forEachPlace(_:)`` gives their ranges.
    public var contents: [UInt8] { bytes.room }

    /// Calls `body` with the name of each field and the range of its value in ``contents``, for callers that keep the
    /// block.
    @inlinable
    @inline(__always)
    public func forEachPlace(_ body: (_ name: Span<UInt8>, _ value: Range<Int>) -> Void) {
        let all = bytes.room.span
        for field in fields {
            body(
                all.extracting(Int(field.start)..<Int(field.nameEnd)),
                Int(field.nameEnd)..<Int(field.valueEnd))
        }
    }

    /// The value of the first field with that name; a copy, for clients and tests.
    public func value(of name: String) -> [UInt8]? {
        let room = bytes.room
        let field = fields.first { room[Int($0.start)..<Int($0.nameEnd)].elementsEqual(name.utf8) }
        return field.map { Array(room[Int($0.nameEnd)..<Int($0.valueEnd)]) }
    }

    /// The value of the first field with that name as text; bytes that are not UTF-8 are replaced.
    public func text(of name: String) -> String? {
        value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Appends a field as nghttp2 decoded it.
    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        let start = UInt32(truncatingIfNeeded: bytes.count)
        unsafe bytes.append(name, value)
        fields.append(
            Field(
                start: start, nameEnd: start &+ UInt32(truncatingIfNeeded: name.count),
                valueEnd: UInt32(truncatingIfNeeded: bytes.count), isIndexed: true))
    }

    /// Replaces all fields by others that were decoded elsewhere.
    mutating func take(_ all: UnsafeBufferPointer<UInt8>, _ places: UnsafeBufferPointer<Field>) {
        bytes.removeAll()
        unsafe bytes.append(all)
        guard fields.count == places.count else { return unsafe fields = Array(places) }
        // Most blocks of a connection have as many fields as the block before.
        unsafe fields.withUnsafeMutableBufferPointer { _ = unsafe $0.update(fromContentsOf: places) }
    }

    /// Whether this is an interim response: its first field is `:status` with 1xx.
    var isInformational: Bool {
        guard let first = fields.first, first.nameEnd - first.start == 7, first.valueEnd > first.nameEnd
        else {
            return false
        }
        return bytes.room[1] == UInt8(ascii: "s") && bytes.room[Int(first.nameEnd)] == UInt8(ascii: "1")
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { _ = unsafe bytes.append($0) }
    }

    /// Ends the field whose name and value are the last bytes; it begins where the field before it ended.
    private mutating func endField(nameBytes: Int, isIndexed: Bool) {
        let start = fields.last?.valueEnd ?? 0
        let field = Field(
            start: start, nameEnd: start + UInt32(nameBytes), valueEnd: UInt32(bytes.count),
            isIndexed: isIndexed)
        fields.append(field)
    }
}

extension HeaderBlock: ExpressibleByDictionaryLiteral {
    /// The fields in the order they are written.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            add(name, value)
        }
    }
}
