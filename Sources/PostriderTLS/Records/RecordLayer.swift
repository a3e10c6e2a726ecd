/// The record layer of a server's TLS 1.3 connection after its handshake (RFC 8446, section 5): it opens and seals
/// records, follows KeyUpdates and reads alerts. It has no I/O.
///
/// ```
/// kind 23 (1) | 3 3 (2) | length (2) | sealed: content (≤ 16,384) | its kind (1) | zeros | tag (16)
/// ```
/// An `SSL` object keeps 13 KiB of handshake state; these records need two keys. OpenSSL has derived the traffic
/// secrets and computes every cipher.
///
/// Besides content, only alerts and KeyUpdates may arrive, because a server that requests no certificate after the
/// handshake and sends no ticket gets nothing else. It cannot be copied, like the keys in it.
struct RecordLayer: ~Copyable {
    /// The bytes of a record header: kind, version, length.
    static let headBytes = 5
    /// The most bytes of content in a record, unless less was negotiated (section 5.1).
    static let mostContent = 16_384
    /// The most bytes of a record (section 5.2).
    static let mostBytes = headBytes + mostContent + 256
    /// The most records between two with content. Honest peers update their key once in millions of records. A peer
    /// that floods us with KeyUpdates would keep a thread busy for as long as it sends.
    static let mostIdleRecords = 32

    /// The content types of records (section 5.1).
    private enum Kind {
        static let alert: UInt8 = 21
        static let handshake: UInt8 = 22
        static let content: UInt8 = 23
    }

    /// The result of opening a record.
    enum Arrival: Equatable {
        /// Content: the range of the decrypted bytes.
        case content(Range<Int>)
        /// Nothing for the caller.
        case nothing
        /// The peer has sent close_notify.
        case end
    }

    private let suite: RecordSuite
    private let mostRecords: UInt64
    /// The most content of a record in both directions, in bytes.
    let contentLimit: Int
    private var receiving: TrafficKey
    private var sending: TrafficKey
    private var idleRecords = 0
    private var keyUpdates = KeyUpdateReader()
    /// Whether the peer has requested a KeyUpdate that we have not sent yet.
    private var owesKeyUpdate = false

    /// Starts with the first record of each side after the handshake.
    ///
    /// - Parameters:
    ///   - contentLimit: the most content of a record in bytes, as negotiated (RFC 6066, section 4).
    ///   - mostRecords: the most records that are sealed with one key.
    init(
        _ suite: RecordSuite, receiving: consuming TrafficKey, sending: consuming TrafficKey,
        contentLimit: Int = RecordLayer.mostContent, mostRecords: UInt64 = RecordSuite.mostRecords
    ) {
        precondition(1...Self.mostContent ~= contentLimit, "TLS has no larger records")
        self.suite = suite
        self.contentLimit = contentLimit
        self.mostRecords = mostRecords
        self.receiving = receiving
        self.sending = sending
    }

    // MARK: - Receiving

    /// Opens the record at the front of `bytes` in place. Returns nil if it is not complete.
    mutating func open(
        _ bytes: UnsafeMutableBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) throws(RecordViolation) -> (bytes: Int, arrival: Arrival)? {
        guard bytes.count >= Self.headBytes else { return nil }
        let length = unsafe Int(bytes[3]) << 8 | Int(bytes[4])
        // The version is ignored (section 5.1). A plaintext record is forbidden after the handshake.
        guard unsafe bytes[0] == Kind.content else {
            throw RecordViolation(.unexpectedMessage, "a record that is not encrypted")
        }
        guard Self.headBytes + length <= Self.mostBytes else {
            throw RecordViolation(.recordOverflow, "a record is longer than TLS allows")
        }
        guard bytes.count >= Self.headBytes + length else { return nil }
        let record = unsafe UnsafeMutableBufferPointer(rebasing: bytes.prefix(Self.headBytes + length))
        guard length >= RecordSuite.tagBytes, try unsafe ciphers.open(record, &receiving, suite) else {
            throw RecordViolation(
                .badRecordMAC, "a record fails authentication: it was changed on its way, or comes again")
        }
        // Content, its kind and the padding have a common limit (section 5.4).
        guard length - RecordSuite.tagBytes <= Self.mostContent + 1 else {
            throw RecordViolation(.recordOverflow, "a record is padded beyond what TLS allows")
        }
        // The kind is the last byte that is not zero.
        var end = record.count - RecordSuite.tagBytes
        while end > Self.headBytes, unsafe record[end - 1] == 0 { end -= 1 }
        guard end > Self.headBytes else {
            throw RecordViolation(.unexpectedMessage, "a record without a content type")
        }
        let content = Self.headBytes..<end - 1
        guard content.count <= contentLimit else {
            throw RecordViolation(.recordOverflow, "a record is longer than was negotiated")
        }
        let arrival = try unsafe judge(
            record[end - 1], content, UnsafeBufferPointer(rebasing: record[content]), ciphers)
        return (record.count, arrival)
    }

    private mutating func judge(
        _ kind: UInt8, _ place: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) throws(RecordViolation) -> Arrival {
        if keyUpdates.isInsideMessage, kind == Kind.content {
            throw RecordViolation(.unexpectedMessage, "a record between the pieces of a KeyUpdate")
        }
        switch kind {
        case Kind.content:
            guard bytes.isEmpty else {
                idleRecords = 0
                return .content(place)
            }
            try countIdle("too many empty records")
            return .nothing
        case Kind.handshake:
            try countIdle("too many KeyUpdates")
            if let isRequest = try unsafe keyUpdates.take(bytes) {
                try receiving.advance(ciphers.derivation)
                ciphers.noteOldKey()
                // One KeyUpdate of ours answers any number of requests.
                if isRequest { owesKeyUpdate = true }
            }
            return .nothing
        case Kind.alert:
            return try unsafe takeAlert(bytes)
        default:
            throw RecordViolation(.unexpectedMessage, "a record of the content type \(kind)")
        }
    }

    private mutating func countIdle(_ sentence: String) throws(RecordViolation) {
        idleRecords += 1
        guard idleRecords <= Self.mostIdleRecords else { throw RecordViolation(.unexpectedMessage, sentence) }
    }

    /// Takes an alert (section 6). Its level is ignored; every alert ends the stream, except for `user_canceled`.
    private mutating func takeAlert(_ alert: UnsafeBufferPointer<UInt8>) throws(RecordViolation) -> Arrival {
        // An empty alert has its own error (section 5.4).
        guard !alert.isEmpty else { throw RecordViolation(.unexpectedMessage, "an empty alert record") }
        guard alert.count == 2 else {
            throw RecordViolation(.decodeError, "an alert of \(alert.count) bytes")
        }
        let number = unsafe alert[1]
        switch number {
        case RecordViolation.Alert.closeNotify.rawValue: return .end
        case 90:  // user_canceled: close_notify follows.
            try countIdle("too many user_canceled alerts")
            return .nothing
        default: throw RecordViolation(receivedAlert: number)
        }
    }

    // MARK: - Sending

    /// Seals at most ``contentLimit`` bytes of content, after a KeyUpdate if one is due. Returns how many bytes of
    /// `room` are to be sent; `room` must have ``mostBytes`` and 64 more.
    mutating func seal(
        _ content: UnsafeBufferPointer<UInt8>, into room: UnsafeMutableBufferPointer<UInt8>,
        _ ciphers: AEADContexts
    ) throws(RecordViolation) -> Int {
        precondition(content.count <= contentLimit, "content of one record")
        var start = 0
        if owesKeyUpdate || sending.records >= mostRecords {
            start = try unsafe seal(Kind.handshake, [24, 0, 0, 1, 0], into: room, ciphers)
            try sending.advance(ciphers.derivation)
            ciphers.noteOldKey()
            owesKeyUpdate = false
        }
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: room[start...])
        return start + (try unsafe seal(Kind.content, content, into: rest, ciphers))
    }

    /// Seals an alert, the last record that this side sends.
    mutating func seal(
        _ alert: RecordViolation.Alert, into room: UnsafeMutableBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) throws(RecordViolation) -> Int {
        try unsafe seal(Kind.alert, [alert.isWarning ? 1 : 2, alert.rawValue], into: room, ciphers)
    }

    private mutating func seal(
        _ kind: UInt8, _ content: some Collection<UInt8>, into room: UnsafeMutableBufferPointer<UInt8>,
        _ ciphers: AEADContexts
    ) throws(RecordViolation) -> Int {
        let length = content.count + 1 + RecordSuite.tagBytes
        let record = unsafe UnsafeMutableBufferPointer(rebasing: room.prefix(Self.headBytes + length))
        unsafe record[0] = Kind.content
        unsafe record[1] = 3
        unsafe record[2] = 3
        unsafe record[3] = UInt8(length >> 8)
        unsafe record[4] = UInt8(truncatingIfNeeded: length)
        _ = unsafe UnsafeMutableBufferPointer(rebasing: record[Self.headBytes...]).update(
            fromContentsOf: content)
        unsafe record[Self.headBytes + content.count] = kind
        try unsafe ciphers.seal(record, &sending, suite)
        return record.count
    }
}
