/// Reads header blocks (HPACK, RFC 7541) in place of the library, which takes a third of its time to undo the code of
/// strings that are the same each time.
struct FieldDecoder {
    /// What a block turned out to be.
    enum Verdict {
        /// The library would take each field, and miss none: it need not see them.
        case plain
        /// Whether it is a good one, the library has to say.
        case doubtful
        /// This is not written in HPACK.
        case broken
        /// More fields than are taken.
        case tooManyFields
        /// More bytes than are taken.
        case tooLarge
    }

    private var table = FieldTable()
    private var token = HeldString()
    private let mostFields: Int
    private let mostBytes: Int
    /// Where fields are put together, and where each lies, before they are moved to their block in one piece; made for
    /// the first one.
    private var room: [UInt8] = []
    private var places: [HeaderBlock.Field] = []

    /// Where the value of `content-length` lies in the block that was read last.
    private(set) var contentLength: Range<Int>?
    /// Kinds of the pseudo-header fields that the block has had so far, a bit each.
    private var pseudoFields: UInt8 = 0
    private var hasRegular = false
    private var isPlain = true

    /// The entry of the static table that names `authorization`.
    private static let authorization = 23

    init(mostFields: Int, mostBytes: Int) {
        self.mostFields = mostFields
        self.mostBytes = mostBytes
    }

    /// Reads a complete block. `block` holds its fields then, unless it is broken or too large.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock) -> Verdict {
        if room.isEmpty {
            room = [UInt8](repeating: 0, count: mostBytes)
            let free = HeaderBlock.Field(start: 0, nameEnd: 0, valueEnd: 0, isIndexed: true)
            places = [HeaderBlock.Field](repeating: free, count: mostFields)
        }
        contentLength = nil
        (pseudoFields, hasRegular, isPlain) = (0, false, true)
        // Taken out, so that nobody else holds them while they are written to.
        var (room, places): ([UInt8], [HeaderBlock.Field]) = ([], [])
        swap(&room, &self.room)
        swap(&places, &self.places)
        defer {
            swap(&room, &self.room)
            swap(&places, &self.places)
        }
        return unsafe room.withUnsafeMutableBufferPointer { room in
            unsafe places.withUnsafeMutableBufferPointer { places in
                var source = unsafe FieldSource(bytes)
                var target = unsafe FieldWriter(room: room, places: places)
                let verdict = readAll(&source, &target)
                unsafe block.take(target.bytes, target.fields)
                return verdict
            }
        }
    }

    private mutating func readAll(_ source: inout FieldSource, _ target: inout FieldWriter) -> Verdict {
        while let first = source.next() {
            if first & 0xE0 == 0x20 {
                // Only before the fields (section 4.2).
                guard target.fieldCount == 0, let size = source.number(first, bits: 5), table.resize(size)
                else { return .broken }
                continue
            }
            guard target.fieldCount < mostFields else { return .tooManyFields }
            let isRead =
                first & 0x80 != 0
                ? readIndexed(first, &source, &target) : readLiteral(first, &source, &target)
            guard target.listBytes <= mostBytes, !target.isFull else { return .tooLarge }
            guard isRead else { return .broken }
        }
        return isPlain && pseudoFields == 0b1111 ? .plain : .doubtful
    }

    /// A field of the table (section 6.1).
    private mutating func readIndexed(
        _ first: UInt8, _ source: inout FieldSource, _ target: inout FieldWriter
    ) -> Bool {
        guard let number = source.number(first, bits: 7) else { return false }
        let field = unsafe table.withEntry(number) { entry, bytes in
            unsafe target.append(UnsafeBufferPointer(start: bytes, count: entry.byteCount))
            target.endField(nameBytes: entry.nameBytes)
            return (entry.kind, entry.isPlain, entry.valueBytes)
        }
        guard let (kind, isPlain, valueBytes) = field else { return false }
        note(kind, isPlain, valueBytes, endingAt: target.count)
        return true
    }

    /// A field that is spelled, or its value (section 6.2).
    private mutating func readLiteral(
        _ first: UInt8, _ source: inout FieldSource, _ target: inout FieldWriter
    ) -> Bool {
        let entersTable = first & 0x40 != 0
        guard let number = source.number(first, bits: entersTable ? 6 : 4) else { return false }
        let start = target.count
        let kind: FieldKind
        if number > 0 {
            let named = unsafe table.withEntry(number) { entry, bytes in
                unsafe target.append(UnsafeBufferPointer(start: bytes, count: entry.nameBytes))
                return entry.kind
            }
            guard let named else { return false }
            kind = named
        } else {
            guard let name = source.string(), name.read(onto: &target) else { return false }
            kind = unsafe FieldKind(target.bytes(from: start))
        }
        let nameEnd = target.count
        guard let text = source.string() else { return false }
        let isPlain: Bool
        if number == Self.authorization, !entersTable {
            guard let plain = token.read(text, onto: &target) else { return false }
            isPlain = plain
        } else {
            guard text.read(onto: &target) else { return false }
            isPlain = unsafe kind.isPlain(target.bytes(from: nameEnd))
        }
        let valueBytes = target.count - nameEnd
        target.endField(nameBytes: nameEnd - start)
        if entersTable {
            let entry = FieldTable.Entry(
                nameBytes: nameEnd - start, valueBytes: valueBytes, kind: kind, isPlain: isPlain)
            unsafe table.add(target.bytes(from: start), entry)
        }
        note(kind, isPlain, valueBytes, endingAt: target.count)
        return true
    }

    /// Counts the field that was read last.
    @inline(__always)
    private mutating func note(_ kind: FieldKind, _ isPlain: Bool, _ valueBytes: Int, endingAt end: Int) {
        if !isPlain { self.isPlain = false }
        switch kind {
        case .method, .path, .scheme, .authority:
            let bit = UInt8(1) << kind.rawValue
            if hasRegular || pseudoFields & bit != 0 { self.isPlain = false }
            pseudoFields |= bit
        case .contentLength:
            if contentLength != nil { self.isPlain = false }
            contentLength = end - valueBytes..<end
            hasRegular = true
        case .regular: hasRegular = true
        case .special: self.isPlain = false
        }
    }
}

/// Fields that are being put together in room that does not grow.
@safe
struct FieldWriter {
    private let room: UnsafeMutableBufferPointer<UInt8>
    private let places: UnsafeMutableBufferPointer<HeaderBlock.Field>
    /// Bytes of names and values so far.
    private(set) var count = 0
    private(set) var fieldCount = 0
    /// Whether there was more than room for it.
    private(set) var isFull = false

    init(
        room: UnsafeMutableBufferPointer<UInt8>, places: UnsafeMutableBufferPointer<HeaderBlock.Field>
    ) {
        unsafe self.room = room
        unsafe self.places = places
    }

    /// As RFC 9113, section 6.5.2 counts them.
    var listBytes: Int { count + 32 * fieldCount }
    /// Everything so far.
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

    /// Appends what a string in Huffman's code says. False: it says nothing.
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

    /// Closes the field whose name and value were appended last.
    @inline(__always)
    mutating func endField(nameBytes: Int) {
        guard unsafe fieldCount < places.count else { return isFull = true }
        let start = unsafe fieldCount == 0 ? 0 : places[fieldCount - 1].valueEnd
        unsafe places[fieldCount] = HeaderBlock.Field(
            start: start, nameEnd: start &+ UInt32(truncatingIfNeeded: nameBytes),
            valueEnd: UInt32(truncatingIfNeeded: count), isIndexed: true)
        fieldCount += 1
    }
}

/// The value of `authorization` that came last, in code and without it. Providers send the same one for an hour, and
/// their libraries keep it out of the tables, as RFC 7541, section 7.1.3, asks them to.
private struct HeldString {
    private var code: [UInt8] = []
    private var text: [UInt8] = []
    private var isPlain = false

    /// As much code as is kept. A token of Apple's takes 170 bytes.
    private static let mostBytes = 1024

    /// Appends a string to `target`. Nil: it says nothing; else whether the library takes it in any case.
    mutating func read(_ string: FieldSource.Text, onto target: inout FieldWriter) -> Bool? {
        if string.isCode, unsafe string.bytes.count == code.count, unsafe isSame(string.bytes) {
            unsafe text.withUnsafeBufferPointer { unsafe target.append($0) }
            return isPlain
        }
        let start = target.count
        guard string.read(onto: &target) else { return nil }
        let bytes = unsafe target.bytes(from: start)
        let isPlain = unsafe FieldKind.regular.isPlain(bytes)
        if string.isCode, unsafe string.bytes.count <= Self.mostBytes {
            unsafe (code, text, self.isPlain) = (Array(string.bytes), Array(bytes), isPlain)
        }
        return isPlain
    }

    /// A secret: in a time that does not tell where the first difference is.
    private func isSame(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe code.withUnsafeBytes { own in
            let other = UnsafeRawBufferPointer(bytes)
            var (difference, next): (UInt64, Int) = (0, 0)
            while next + 8 <= own.count {
                difference |=
                    unsafe own.loadUnaligned(fromByteOffset: next, as: UInt64.self)
                    ^ other.loadUnaligned(fromByteOffset: next, as: UInt64.self)
                next += 8
            }
            while next < own.count {
                difference |= unsafe UInt64(own[next] ^ other[next])
                next += 1
            }
            return difference == 0
        }
    }
}
