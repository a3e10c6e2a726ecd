/// The static and the dynamic table of one direction of a connection (RFC 7541, section 2.3): the fields that a header
/// block may name by an index.
struct HPACKTable {
    /// A field of a table: its name and then its value, in a buffer of the table.
    struct Entry: Sendable {
        private var place: UInt32 = 0
        private var nameLength: UInt32
        private var valueLength: UInt32
        let kind: HeaderFieldKind
        /// Whether nghttp2 accepts the value in any case.
        let isPlain: Bool

        init(nameBytes: Int, valueBytes: Int, kind: HeaderFieldKind, isPlain: Bool) {
            nameLength = UInt32(nameBytes)
            valueLength = UInt32(valueBytes)
            self.kind = kind
            self.isPlain = isPlain
        }

        /// Where the field begins in the buffer.
        var start: Int {
            get { Int(place) }
            set { place = UInt32(newValue) }
        }
        var nameBytes: Int { Int(nameLength) }
        var valueBytes: Int { Int(valueLength) }
        var byteCount: Int { nameBytes + valueBytes }
        /// Its size as RFC 7541, section 4.1 counts it.
        var size: Int { byteCount + 32 }
    }

    /// The initial size of the dynamic table (SETTINGS_HEADER_TABLE_SIZE).
    static let initialSize = 4096

    private var room: [UInt8] = []
    /// Where the youngest entry in ``room`` ends.
    private var end = 0
    /// The dynamic table, a ring. It has as many places as entries can fit into the initial size.
    private var entries: [Entry] = []
    private var oldest = 0
    private(set) var count = 0
    private(set) var size = 0
    /// Counts changes: an index names the same field while this stays the same.
    private(set) var generation = 0
    /// The maximum size that the peer has set (section 4.2), at most the initial size.
    private(set) var mostSize = initialSize

    private static let places = 128

    /// A reference to the static table, which is faster to reach than the global.
    private let known = Self.staticTable

    /// Calls `body` with the entry of an index and its bytes; nil if there is none.
    @inline(__always)
    func withEntry<Result>(
        _ number: Int, _ body: (Entry, UnsafePointer<UInt8>) -> Result
    ) -> Result? {
        if number <= known.entries.count {
            guard number > 0 else { return nil }
            return unsafe known.room.withUnsafeBufferPointer {
                let entry = known.entries[number - 1]
                return unsafe body(entry, $0.baseAddress.unsafelyUnwrapped + entry.start)
            }
        }
        let age = number - known.entries.count
        guard age <= count else { return nil }
        return unsafe room.withUnsafeBufferPointer {
            let entry = entries[(oldest + count - age) & (Self.places - 1)]
            return unsafe body(entry, $0.baseAddress.unsafelyUnwrapped + entry.start)
        }
    }

    /// Adds a field, whose value follows its name, and evicts the oldest entries. A field that is larger than the table
    /// empties it (section 4.4).
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>, _ field: Entry) {
        generation &+= 1
        shrink(to: mostSize - field.size)
        guard field.size <= mostSize else { return }
        if entries.isEmpty {
            let free = Entry(nameBytes: 0, valueBytes: 0, kind: .special, isPlain: false)
            entries = [Entry](repeating: free, count: Self.places)
            room = [UInt8](repeating: 0, count: 2 * Self.initialSize)
        }
        if end + bytes.count > room.count { moveToFront() }
        unsafe room.withUnsafeMutableBufferPointer { room in
            guard let source = bytes.baseAddress else { return }
            unsafe (room.baseAddress.unsafelyUnwrapped + end).update(from: source, count: bytes.count)
        }
        var entry = field
        entry.start = end
        entries[(oldest + count) & (Self.places - 1)] = entry
        count += 1
        end += bytes.count
        size += field.size
    }

    /// A table size update of the peer (section 6.3). Returns false if it is more than was allowed.
    mutating func resize(_ size: Int) -> Bool {
        guard size <= Self.initialSize else { return false }
        generation &+= 1
        mostSize = size
        shrink(to: size)
        return true
    }

    private mutating func shrink(to most: Int) {
        while count > 0, size > most {
            size -= entries[oldest].size
            oldest = (oldest + 1) & (Self.places - 1)
            count -= 1
        }
    }

    /// Moves the entries to the front of the buffer. They are contiguous and fill at most half of it.
    private mutating func moveToFront() {
        let start = count > 0 ? entries[oldest].start : end
        for place in 0..<end - start { room[place] = room[start + place] }
        for age in 0..<count { entries[(oldest + age) & (Self.places - 1)].start -= start }
        end -= start
    }

    // MARK: The static table (appendix A)

    private static let staticTable: (room: [UInt8], entries: [Entry]) = {
        var (room, entries): ([UInt8], [Entry]) = ([], [])
        for (name, value) in appendixA {
            let (nameBytes, valueBytes) = (Array(name.utf8), Array(value.utf8))
            let kind = unsafe nameBytes.withUnsafeBufferPointer { unsafe HeaderFieldKind($0) }
            let isPlain = unsafe valueBytes.withUnsafeBufferPointer { unsafe kind.isPlain($0) }
            var entry = Entry(
                nameBytes: nameBytes.count, valueBytes: valueBytes.count, kind: kind, isPlain: isPlain)
            entry.start = room.count
            entries.append(entry)
            room += nameBytes + valueBytes
        }
        return (room, entries)
    }()

    private static let appendixA: [(String, String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
        (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
        (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
        (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
        ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
        ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
        ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
        ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
        ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
        ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
        ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
        ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
        ("via", ""), ("www-authenticate", ""),
    ]
}
