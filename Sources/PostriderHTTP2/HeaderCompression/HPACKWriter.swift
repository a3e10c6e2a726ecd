/// Writes decoded fields into memory of a fixed size.
@safe
struct HPACKWriter {
    private let room: UnsafeMutableBufferPointer<UInt8>
    private let places: UnsafeMutableBufferPointer<HeaderBlock.Field>
    /// Bytes of names and values so far.
    private(set) var count = 0
    private(set) var fieldCount = 0
    /// Whether a field did not fit: nothing is written after it.
    private(set) var isFull = false

    /// Writes to memory whose owner keeps it while this writer exists.
    init(_ room: FieldBuffer) {
        unsafe self.room = room.bytes
        unsafe places = room.fields
    }

    /// The size of the list as RFC 9113, section 6.5.2 counts it.
    var listBytes: Int { count + 32 * fieldCount }
    /// How many more fields there is room for.
    var fieldsLeft: Int { unsafe places.count - fieldCount }
    /// All bytes so far.
    var bytes: UnsafeBufferPointer<UInt8> { unsafe bytes(from: 0) }
    var fields: UnsafeBufferPointer<HeaderBlock.Field> {
        unsafe UnsafeBufferPointer(rebasing: places[..<fieldCount])
    }

    func bytes(from start: Int) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(rebasing: room[start..<count])
    }

    @inline(__always)
    mutating func append(_ source: UnsafeBufferPointer<UInt8>) {
        guard unsafe source.count <= room.count - count else { return isFull = true }
        guard let start = source.baseAddress else { return }
        unsafe (room.baseAddress.unsafelyUnwrapped + count).update(from: start, count: source.count)
        count += source.count
    }

    /// Decodes a Huffman code and appends its bytes. Returns false if it is not valid.
    mutating func append(decoding code: UnsafeBufferPointer<UInt8>) -> Bool {
        let most = HuffmanCode.mostBytes(of: code.count)
        guard unsafe most > room.count - count else {
            let target = unsafe room.baseAddress.unsafelyUnwrapped + count
            guard let written = unsafe HuffmanCode.shared.decode(code, to: target) else { return false }
            count += written
            return true
        }
        var text = [UInt8](repeating: 0, count: most)
        let written = unsafe text.withUnsafeMutableBufferPointer {
            unsafe HuffmanCode.shared.decode(code, to: $0.baseAddress.unsafelyUnwrapped)
        }
        guard let written else { return false }
        unsafe text.withUnsafeBufferPointer { unsafe append(UnsafeBufferPointer(rebasing: $0[..<written])) }
        return true
    }

    /// Ends the field whose name and value were appended last.
    @inline(__always)
    mutating func endField(nameBytes: Int) {
        guard unsafe fieldCount < places.count else { return isFull = true }
        let start = unsafe fieldCount == 0 ? 0 : places[fieldCount - 1].valueEnd
        unsafe places[fieldCount] = HeaderBlock.Field(
            start: start, nameEnd: start &+ UInt32(truncatingIfNeeded: nameBytes),
            valueEnd: UInt32(truncatingIfNeeded: count), isIndexed: true)
        fieldCount += 1
    }

    /// Appends complete fields that were written before, at a time when they began at `start`.
    mutating func append(_ text: [UInt8], _ others: [HeaderBlock.Field], from start: UInt32) {
        guard others.count <= fieldsLeft else { return isFull = true }
        let shift = UInt32(truncatingIfNeeded: count) &- start
        unsafe text.withUnsafeBufferPointer { unsafe append($0) }
        for field in others {
            unsafe places[fieldCount] = HeaderBlock.Field(
                start: field.start &+ shift, nameEnd: field.nameEnd &+ shift,
                valueEnd: field.valueEnd &+ shift, isIndexed: true)
            fieldCount += 1
        }
    }
}

/// Memory of a fixed size in which the fields of a block are decoded.
@safe
final class FieldBuffer {
    let bytes: UnsafeMutableBufferPointer<UInt8>
    let fields: UnsafeMutableBufferPointer<HeaderBlock.Field>

    init(bytes byteCount: Int, fields fieldCount: Int) {
        unsafe bytes = .allocate(capacity: byteCount)
        unsafe fields = .allocate(capacity: fieldCount)
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe fields.deallocate()
    }
}
