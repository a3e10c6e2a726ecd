import Notifications

/// How records lie in a segment of a trace: blocks of whole 32 bytes, numbers least significant byte first, each with a
/// checksum over the rest of it. Texts stand once in a segment, as names with numbers from 1.
///
///     event       checksum u32, kind u8, 3 unused, moment i64, row i64, detail i64
///     name        checksum u32, 201 u8, length u8, 2 unused, number u32, 4 unused, the text, padding
///     acceptance  checksum u32, 200 u8, priority u8, flags u8, 1 unused, moment i64, row i64, identity 2 u64,
///                 unique identity 2 u64, device u64 and u32, registration u32, expiration i64,
///                 payload bytes u32, numbers of topic, key identifier and push type u32 each
///     report      checksum u32, 202 u8, kind u8, 2 unused, moment i64, identity 2 u64, device u64 and u32, 4 unused,
///                 moment on the device i64, padding
enum TraceBytes {
    /// Blocks are multiples of this.
    static let unit = 32
    /// Bytes of an acceptance.
    static let acceptanceBytes = 96
    /// The most that one record takes, with names for it.
    static let mostBytes = acceptanceBytes + 3 * nameBytes(255)
    /// What a segment begins with: who wrote it, the version, and the highest row of the segments before.
    static let magic: UInt64 = 0x01_45_43_41_52_54_52_50  // "PRTRACE", version 1
    /// Bytes of the header: the magic, the row, a checksum, padding.
    static let headerBytes = unit

    fileprivate static let acceptance: UInt8 = 200
    fileprivate static let name: UInt8 = 201
    fileprivate static let report: UInt8 = 202
    /// Bytes of a report.
    static let reportBytes = 64

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

    /// What a header says, nil where it is none of this version's.
    static func lastRow(inHeader bytes: RawSpan) -> QueueRow? {
        guard bytes.byteCount >= headerBytes, bytes.number(at: 0) == magic,
            bytes.number(at: 16) == checksum(bytes.extracting(0..<16))
        else { return nil }
        return QueueRow(bytes.number(at: 8))
    }

    /// A checksum against bytes that were never written, or only partly; of whole words.
    static func checksum(_ bytes: RawSpan) -> UInt32 {
        var sum: UInt32 = 0x9E37_79B9
        for offset in stride(from: 0, to: bytes.byteCount, by: 4) {
            let word: UInt32 = bytes.number(at: offset)
            sum = (sum << 5 | sum >> 27) ^ word
            sum = sum &* 0x0100_0193
        }
        return sum
    }
}

/// The names of one segment.
struct TraceNames {
    private var numbers: [String: UInt32] = [:]
    private(set) var texts: [String] = []

    /// The number of a text, nil where it has none yet.
    func number(of text: String) -> UInt32? { numbers[text] }

    /// Gives a text the next number.
    mutating func add(_ text: String) -> UInt32 {
        texts.append(text)
        let number = UInt32(texts.count)
        numbers[text] = number
        return number
    }

    /// The text of a number; nil for 0.
    func text(_ number: UInt32) -> String? {
        texts.indices.contains(Int(number) - 1) ? texts[Int(number) - 1] : nil
    }

    /// Forgets the names after the first so many: they were not written.
    mutating func keep(_ count: Int) {
        for text in texts[count...] { numbers[text] = nil }
        texts.removeSubrange(count...)
    }
}

/// Records as bytes, to be written in one piece.
struct TraceEncoder {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Adds a record, and the names that the segment does not have yet.
    mutating func add(_ record: TraceRecord, _ names: inout TraceNames) {
        switch record {
        case .event(let event): add(event)
        case .acceptance(let push): add(push, &names)
        case .report(let report): add(report)
        }
    }

    private mutating func add(_ event: TraceEvent) {
        let start = begin(event.kind.rawValue, 0, 0)
        bytes.append(number: event.moment.milliseconds)
        bytes.append(number: event.row.value)
        bytes.append(number: event.detail)
        end(start)
    }

    private mutating func add(_ push: TraceAcceptance, _ names: inout TraceNames) {
        let topic = number(of: push.topic.text, &names)
        let key: UInt32 = if case .key(let key) = push.proof { number(of: key, &names) } else { 0 }
        let pushType = push.pushType.map { number(of: $0.rawValue, &names) } ?? 0
        let expiresAt: Int64? = if case .at(let moment) = push.expiration { moment.milliseconds } else { nil }
        let flags: Flags = [
            push.collapses ? .collapses : [], push.proof == .certificate ? .certificate : [],
            push.uniqueIdentity == nil ? [] : .unique, expiresAt == nil ? [] : .expires,
        ]
        let start = begin(TraceBytes.acceptance, push.priority.rawValue, flags.rawValue)
        bytes.append(number: push.moment.milliseconds)
        bytes.append(number: push.row.value)
        bytes.append(number: push.identity.high)
        bytes.append(number: push.identity.low)
        bytes.append(number: push.uniqueIdentity?.high ?? 0)
        bytes.append(number: push.uniqueIdentity?.low ?? 0)
        bytes.append(number: push.device.high)
        bytes.append(number: push.device.low)
        bytes.append(number: push.registration.value)
        bytes.append(number: expiresAt ?? 0)
        bytes.append(number: UInt32(clamping: push.payloadBytes))
        bytes.append(number: topic)
        bytes.append(number: key)
        bytes.append(number: pushType)
        end(start)
    }

    private mutating func add(_ report: TraceReport) {
        let start = begin(TraceBytes.report, report.kind.rawValue, 0)
        bytes.append(number: report.moment.milliseconds)
        bytes.append(number: report.identity.high)
        bytes.append(number: report.identity.low)
        bytes.append(number: report.device.high)
        bytes.append(number: report.device.low)
        bytes.append(number: UInt32(0))
        bytes.append(number: report.deviceMoment.milliseconds)
        bytes.append(number: UInt64(0))
        end(start)
    }

    private mutating func number(of text: String, _ names: inout TraceNames) -> UInt32 {
        if let number = names.number(of: text) { return number }
        let number = names.add(text)
        let text = text.utf8.prefix(255)
        let start = begin(TraceBytes.name, UInt8(text.count), 0)
        bytes.append(number: number)
        bytes.append(number: UInt32(0))
        bytes.append(contentsOf: text)
        let length = TraceBytes.nameBytes(text.count)
        bytes.append(contentsOf: repeatElement(0, count: start + length - bytes.count))
        end(start)
        return number
    }

    private mutating func begin(_ kind: UInt8, _ first: UInt8, _ second: UInt8) -> Int {
        let start = bytes.count
        bytes.append(number: UInt32(0))
        bytes.append(kind)
        bytes.append(first)
        bytes.append(second)
        bytes.append(0)
        return start
    }

    private mutating func end(_ start: Int) {
        let sum = unsafe TraceBytes.checksum(bytes.span.bytes.extracting(start + 4..<bytes.count))
        for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: sum >> UInt32(index * 8)) }
    }
}

/// Bytes as records.
struct TraceDecoder {
    /// What stands at a place.
    enum Block {
        case record(TraceRecord, bytes: Int)
        case name(bytes: Int)
        /// Nothing that was written whole.
        case none
    }

    /// The names that were met.
    private(set) var names: TraceNames

    init(_ names: TraceNames = TraceNames()) { self.names = names }

    /// The block at the beginning of `bytes`.
    mutating func next(_ bytes: RawSpan) -> Block {
        guard let length = Self.length(bytes), length <= bytes.byteCount else { return .none }
        let block = bytes.extracting(0..<length)
        guard block.number(at: 0) == TraceBytes.checksum(block.extracting(4..<length)) else { return .none }
        let kind: UInt8 = block.number(at: 4)
        switch kind {
        case TraceBytes.name:
            let count: UInt8 = block.number(at: 5)
            _ = names.add(block.text(16..<16 + Int(count)))
            return .name(bytes: length)
        case TraceBytes.acceptance:
            guard let push = acceptance(block) else { return .none }
            return .record(.acceptance(push), bytes: length)
        case TraceBytes.report:
            guard let kind = TraceEvent.Kind(rawValue: block.number(at: 5)) else { return .none }
            let report = TraceReport(
                kind, at: Moment(milliseconds: block.number(at: 8)),
                onDevice: Moment(milliseconds: block.number(at: 48)),
                of: NotificationIdentity(high: block.number(at: 16), low: block.number(at: 24)),
                by: DeviceIdentity(high: block.number(at: 32), low: block.number(at: 40)))
            return .record(.report(report), bytes: length)
        default:
            guard let kind = TraceEvent.Kind(rawValue: kind) else { return .none }
            let event = TraceEvent(
                kind, at: Moment(milliseconds: block.number(at: 8)), row: QueueRow(block.number(at: 16)),
                detail: block.number(at: 24))
            return .record(.event(event), bytes: length)
        }
    }

    private static func length(_ bytes: RawSpan) -> Int? {
        guard bytes.byteCount >= TraceBytes.unit else { return nil }
        let kind: UInt8 = bytes.number(at: 4)
        switch kind {
        case 0: return nil
        case TraceBytes.acceptance: return TraceBytes.acceptanceBytes
        case TraceBytes.report: return TraceBytes.reportBytes
        case TraceBytes.name:
            let count: UInt8 = bytes.number(at: 5)
            return TraceBytes.nameBytes(Int(count))
        default: return TraceBytes.unit
        }
    }

    private func acceptance(_ block: RawSpan) -> TraceAcceptance? {
        let flags = Flags(rawValue: block.number(at: 6))
        guard let topic = names.text(block.number(at: 84)).flatMap(Topic.init),
            let priority = Priority(rawValue: block.number(at: 5))
        else { return nil }
        let proof: ProviderProof? =
            flags.contains(.certificate)
            ? .certificate : names.text(block.number(at: 88)).map { .key($0) }
        return TraceAcceptance(
            row: QueueRow(block.number(at: 16)), moment: Moment(milliseconds: block.number(at: 8)),
            identity: NotificationIdentity(high: block.number(at: 24), low: block.number(at: 32)),
            uniqueIdentity: flags.contains(.unique)
                ? NotificationIdentity(high: block.number(at: 40), low: block.number(at: 48)) : nil,
            device: DeviceIdentity(high: block.number(at: 56), low: block.number(at: 64)),
            registration: RegistrationNumber(block.number(at: 68) as UInt32), topic: topic,
            pushType: names.text(block.number(at: 92)).flatMap(PushType.init(rawValue:)), priority: priority,
            expiration: flags.contains(.expires)
                ? .at(Moment(milliseconds: block.number(at: 72))) : .nowOrNever,
            collapses: flags.contains(.collapses),
            payloadBytes: Int(block.number(at: 80) as UInt32), proof: proof)
    }
}

private struct Flags: OptionSet {
    let rawValue: UInt8
    static let collapses = Flags(rawValue: 1)
    static let unique = Flags(rawValue: 2)
    static let expires = Flags(rawValue: 4)
    static let certificate = Flags(rawValue: 8)
}

extension Array where Element == UInt8 {
    fileprivate mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(number: Number) {
        unsafe Swift.withUnsafeBytes(of: number.littleEndian) { unsafe append(contentsOf: $0) }
    }
}

extension RawSpan {
    /// The number at an offset; one that ends behind the span's end is a bug, and trapped.
    fileprivate func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number {
        Number(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    fileprivate func text(_ range: Range<Int>) -> String {
        let bytes = range.map { number(at: $0) as UInt8 }
        return String(decoding: bytes, as: UTF8.self)
    }
}
