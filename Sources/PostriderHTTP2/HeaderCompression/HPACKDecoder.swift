/// Decodes header blocks (HPACK, RFC 7541) in place of nghttp2. nghttp2 spends a third of its time on the Huffman codes
/// of strings that are the same in every request; this decoder remembers them.
struct HPACKDecoder {
    /// The result of reading a block.
    enum Verdict {
        /// The block was decoded, and nghttp2 would accept all of its fields: nghttp2 need not see them.
        case plain
        /// The block was decoded, and nghttp2 has to check whether its fields are allowed.
        case doubtful
        /// A decoding error (RFC 7541, section 2.3.3 and others): COMPRESSION_ERROR.
        case broken
        /// More fields than are allowed.
        case tooManyFields
        /// A larger list than is allowed.
        case tooLarge
    }

    /// What was found in the fields of a block so far.
    struct Progress: Equatable {
        /// The range of the value of `content-length`.
        var contentLength: Range<Int>?
        /// The bytes of the table size updates at the block's begin (RFC 7541, section 4.2).
        var sizeUpdateBytes = 0
        /// The kinds of the pseudo-header fields so far, one bit for each ``HeaderFieldKind``.
        var pseudoFields: UInt8 = 0
        var hasRegular = false
        var isPlain = true
    }

    private var table = HPACKTable()
    private var token = MemoisedString()
    private var runs = HPACKMemo()
    private let maxFields: Int
    private let maxBytes: Int
    /// The buffer into which fields are decoded before they are copied to the block together.
    private let room: FieldBuffer
    private var progress = Progress()

    /// The range of the value of `content-length` in the block that was decoded last.
    var contentLength: Range<Int>? { progress.contentLength }
    /// The bytes of the table size updates at the begin of the block that was decoded last.
    var sizeUpdateBytes: Int { progress.sizeUpdateBytes }

    /// The size of the dynamic table that the peer has chosen, at most the initial size.
    var tableSize: Int { table.mostSize }

    /// The index of `authorization` in the static table (RFC 7541, appendix A).
    private static let authorization = 23

    init(maxFields: Int, maxBytes: Int) {
        self.maxFields = maxFields
        self.maxBytes = maxBytes
        room = FieldBuffer(bytes: maxBytes, fields: maxFields)
    }

    /// Decodes a complete block. Afterwards `block` has its fields, unless the block is broken or too large.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock) -> Verdict {
        progress = Progress()
        var source = unsafe HPACKReader(bytes)
        var target = HPACKWriter(room)
        let verdict = readAll(&source, &target)
        unsafe block.take(target.bytes, target.fields)
        return verdict
    }

    private mutating func readAll(_ source: inout HPACKReader, _ target: inout HPACKWriter) -> Verdict {
        runs.beginBlock()
        var beginsRun = true
        while true {
            if beginsRun {
                runs.begin(&source, &target, &progress, table.generation)
                guard target.listBytes <= maxBytes, !target.isFull else { return .tooLarge }
            }
            let place = source.place
            guard let first = source.next() else { break }
            if first & 0xE0 == 0x20 {
                // A table size update is only allowed before the fields (section 4.2).
                guard target.fieldCount == 0, let size = source.number(first, bits: 5), table.resize(size)
                else { return .broken }
                progress.sizeUpdateBytes = source.place
                beginsRun = false
                continue
            }
            guard target.fieldCount < maxFields else { return .tooManyFields }
            beginsRun = Self.differs(first, source)
            if beginsRun { runs.end(source, at: place, target, progress, table.generation) }
            let isRead =
                first & 0x80 != 0
                ? readIndexed(first, &source, &target) : readLiteral(first, &source, &target)
            guard target.listBytes <= maxBytes, !target.isFull else { return .tooLarge }
            guard isRead else { return .broken }
        }
        runs.end(source, at: source.place, target, progress, table.generation)
        return progress.isPlain && progress.pseudoFields == 0b1111 ? .plain : .doubtful
    }

    /// Whether a field probably differs in the next request: a literal without indexing is. `authorization` is the
    /// exception: it is such a literal because it is secret.
    private static func differs(_ first: UInt8, _ source: HPACKReader) -> Bool {
        guard first & 0xE0 == 0 else { return false }
        return first & 0x0F != 0x0F || source.following != UInt8(authorization - 0x0F)
    }

    /// An indexed field (section 6.1).
    private mutating func readIndexed(
        _ first: UInt8, _ source: inout HPACKReader, _ target: inout HPACKWriter
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

    /// A literal field (section 6.2).
    private mutating func readLiteral(
        _ first: UInt8, _ source: inout HPACKReader, _ target: inout HPACKWriter
    ) -> Bool {
        let entersTable = first & 0x40 != 0
        guard let number = source.number(first, bits: entersTable ? 6 : 4) else { return false }
        let start = target.count
        let kind: HeaderFieldKind
        if number > 0 {
            let named = unsafe table.withEntry(number) { entry, bytes in
                unsafe target.append(UnsafeBufferPointer(start: bytes, count: entry.nameBytes))
                return entry.kind
            }
            guard let named else { return false }
            kind = named
        } else {
            guard let name = source.string(), name.read(onto: &target) else { return false }
            kind = unsafe HeaderFieldKind(target.bytes(from: start))
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
            let entry = HPACKTable.Entry(
                nameBytes: nameEnd - start, valueBytes: valueBytes, kind: kind, isPlain: isPlain)
            unsafe table.add(target.bytes(from: start), entry)
        }
        note(kind, isPlain, valueBytes, endingAt: target.count)
        return true
    }

    /// Notes what the decoder has to know of the last field.
    @inline(__always)
    private mutating func note(_ kind: HeaderFieldKind, _ isPlain: Bool, _ valueBytes: Int, endingAt end: Int)
    {
        if !isPlain { progress.isPlain = false }
        switch kind {
        case .method, .path, .scheme, .authority:
            let bit = UInt8(1) << kind.rawValue
            if progress.hasRegular || progress.pseudoFields & bit != 0 { progress.isPlain = false }
            progress.pseudoFields |= bit
        case .contentLength:
            if progress.contentLength != nil { progress.isPlain = false }
            progress.contentLength = end - valueBytes..<end
            progress.hasRegular = true
        case .regular: progress.hasRegular = true
        case .special: progress.isPlain = false
        }
    }
}
