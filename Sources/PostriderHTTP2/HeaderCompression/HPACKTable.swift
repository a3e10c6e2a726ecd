/// The fields that a header block may name by a number (RFC 7541, section 2.3): those that everybody knows, and those
/// that the peer has sent on this connection, the youngest first.
struct HPACKTable {
    /// A field in a run of bytes: its name, then its value.
    struct Entry: Sendable {
        private var place: UInt32 = 0
        private var nameLength: UInt32
        private var valueLength: UInt32
        let kind: HeaderFieldKind
        /// Whether the library takes its value in any case.
        let isPlain: Bool

        init(nameBytes: Int, valueBytes: Int, kind: HeaderFieldKind, isPlain: Bool) {
            nameLength = UInt32(nameBytes)
            valueLength = UInt32(valueBytes)
            self.kind = kind
            self.isPlain = isPlain
        }

        /// Where it begins in the run.
        var start: Int {
            get { Int(place) }
            set { place = UInt32(newValue) }
        }
        var nameBytes: Int { Int(nameLength) }
        var valueBytes: Int { Int(valueLength) }
        var byteCount: Int { nameBytes + valueBytes }
        /// As a table counts it (RFC 7541, section 4.1).
        var size: Int { byteCount + 32 }
    }

    /// What a table is allowed to hold if nothing else is said: the protocol's initial size.
    static let initialSize = 4096

    private var room: [UInt8] = []
    /// Behind the last entry.
    private var end = 0
    /// A ring: no more entries fit into the usual size.
    private var entries: [Entry] = []
    private var oldest = 0
    private(set) var count = 0
    private(set) var size = 0
    /// Rises with each change: what a number stands for is the same as long as this is.
    private(set) var generation = 0
    /// What the peer lets it hold, in any case no more than the usual size.
    private(set) var mostSize = initialSize

    private static let places = 128

    /// What everybody knows. A table has it at hand.
    private let known = Self.everybodys

    /// Lends an entry and its bytes; nil: there is none of this number.
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

    /// Adds a field, whose name and value follow one another; the oldest make room. One that is larger than the table
    /// empties it.
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

    /// The peer says how much the table may hold. False: that is more than it was allowed.
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

    /// What is in the table lies in one piece, which is no larger than half of the room.
    private mutating func moveToFront() {
        let start = count > 0 ? entries[oldest].start : end
        for place in 0..<end - start { room[place] = room[start + place] }
        for age in 0..<count { entries[(oldest + age) & (Self.places - 1)].start -= start }
        end -= start
    }

    // MARK: What everybody knows

    private static let everybodys: (room: [UInt8], entries: [Entry]) = {
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
