import PostriderNotifications

/// The format of a trace segment: blocks of multiples of 32 bytes, numbers in little-endian order, each block with a
/// checksum over the rest of it. A text is stored once per segment as a name, with numbers from 1.
///
///     event       checksum u32, kind u8, 3 unused, moment i64, row i64, detail i64
///     name        checksum u32, 201 u8, length u8, 2 unused, number u32, 4 unused, the text, padding
///     acceptance  checksum u32, 200 u8, priority u8, flags u8, 1 unused, moment i64, row i64, identity 2 u64,
///                 unique identity 2 u64, device u64 and u32 and registration u32 (or channel 2 u64), expiration i64,
///                 payload bytes u32, numbers of topic, key identifier and push type u32 each
///     the same    with 204 for 200 and the payload's digest, 32 bytes, behind it
///     report      checksum u32, 202 u8, kind u8, 2 unused, moment i64, identity 2 u64, device u64 and u32, 4 unused,
///                 moment on the device (or the other row of a merged push) i64, row i64
///     the same    with 203 for 202 and a text's length u8 behind its kind; the text, padding
enum TraceBytes {
    /// The length of a block is a multiple of this many bytes.
    static let unit = 32
    /// The bytes of an acceptance.
    static let acceptanceBytes = 96
    /// The bytes of an acceptance with a digest.
    static let digestAcceptanceBytes = acceptanceBytes + 32
    /// The most bytes that one record takes, including its names.
    static let mostBytes = digestAcceptanceBytes + 3 * nameBytes(255)
    /// The first bytes of a segment: the program and the version of the format. The highest row of earlier segments
    /// follows.
    static let magic: UInt64 = 0x01_45_43_41_52_54_52_50  // "PRTRACE", version 1
    /// The bytes of the header: magic, row, checksum, padding.
    static let headerBytes = unit

    static let acceptance: UInt8 = 200
    static let name: UInt8 = 201
    static let report: UInt8 = 202
    /// The kind of a report with a text.
    static let textReport: UInt8 = 203
    /// The kind of an acceptance with the digest of the payload.
    static let digestAcceptance: UInt8 = 204
    /// The bytes of a report before its text.
    static let reportBytes = 64

    /// The bytes of the block of a report with a text.
    static func textReportBytes(_ textBytes: Int) -> Int {
        reportBytes + (textBytes + unit - 1) / unit * unit
    }

    /// The bytes of a name's block.
    static func nameBytes(_ textBytes: Int) -> Int { (16 + textBytes + unit - 1) / unit * unit }

    /// The header of a new segment.
    static func header(lastRow: QueueRow) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: magic)
        bytes.append(number: lastRow.value)
        bytes.append(number: unsafe checksum(bytes.span.bytes))
        bytes.append(contentsOf: repeatElement(0, count: headerBytes - bytes.count))
        return bytes
    }

    /// The last row in a header; nil if the bytes are not a header of this version.
    static func lastRow(inHeader bytes: RawSpan) -> QueueRow? {
        guard bytes.byteCount >= headerBytes, bytes.number(at: 0) == magic,
            bytes.number(at: 16) == checksum(bytes.extracting(0..<16))
        else { return nil }
        return QueueRow(bytes.number(at: 8))
    }

    /// A checksum that detects bytes that were never or only partly written. The bytes are whole words of 32 bits.
    static func checksum(_ bytes: RawSpan) -> UInt32 {
        var sum = checksumSeed
        for offset in stride(from: 0, to: bytes.byteCount, by: 4) {
            sum = checksum(sum, bytes.number(at: offset))
        }
        return sum
    }

    /// The initial value of a checksum.
    static let checksumSeed: UInt32 = 0x9E37_79B9

    /// Continues a checksum with one more word.
    static func checksum(_ sum: UInt32, _ word: UInt32) -> UInt32 {
        ((sum << 5 | sum >> 27) ^ word) &* 0x0100_0193
    }

    /// The flags of an acceptance.
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let collapses = Flags(rawValue: 1)
        static let unique = Flags(rawValue: 2)
        static let expires = Flags(rawValue: 4)
        static let certificate = Flags(rawValue: 8)
        static let channel = Flags(rawValue: 16)
        /// The channel belongs to the development environment.
        static let development = Flags(rawValue: 32)
    }
}

/// The names of one segment.
struct TraceNames {
    /// The fields of an acceptance that refer to a name.
    enum Place: Int {
        case topic, key, pushType
    }

    private var numbers: [String: UInt32] = [:]
    private(set) var texts: [String] = []
    /// The last name of each field, because most pushes repeat it.
    private var last: InlineArray<3, (text: String, number: UInt32)?> = .init(repeating: nil)

    /// The number of a text; nil if it has none yet.
    mutating func number(of text: String, as place: Place) -> UInt32? {
        if let last = last[place.rawValue], last.text == text { return last.number }
        guard let number = numbers[text] else { return nil }
        last[place.rawValue] = (text, number)
        return number
    }

    /// Assigns the next number to a text.
    mutating func add(_ text: String) -> UInt32 {
        texts.append(text)
        let number = UInt32(texts.count)
        numbers[text] = number
        return number
    }

    /// The text of a number; nil for 0 and for numbers that are not assigned.
    func text(_ number: UInt32) -> String? {
        texts.indices.contains(Int(number) - 1) ? texts[Int(number) - 1] : nil
    }

    /// Keeps the first `count` names, because the others could not be written.
    mutating func keep(_ count: Int) {
        last = .init(repeating: nil)
        for text in texts[count...] { numbers[text] = nil }
        texts.removeSubrange(count...)
    }
}

extension Array where Element == UInt8 {
    mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(number: Number) {
        unsafe Swift.withUnsafeBytes(of: number.littleEndian) { unsafe append(contentsOf: $0) }
    }
}

extension RawSpan {
    /// The little-endian number at an offset. The number must lie within the span; otherwise this traps.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number {
        Number(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    func text(_ range: Range<Int>) -> String {
        let bytes = range.map { number(at: $0) as UInt8 }
        return String(decoding: bytes, as: UTF8.self)
    }
}
