/// Reads a time zone file (TZif, RFC 9636).
///
/// A file has a header and a data block with 32-bit times. From version 2 on, another header and block with 64-bit
/// times follow, and a footer with the rule after the last time.
struct ZoneFile {
    private var bytes: ArraySlice<UInt8>

    /// Reads the rules from the bytes of a file.
    ///
    /// - Returns: nil if the bytes are not such a file, or if its times count leap seconds, which our clocks do not.
    static func rules(named identifier: String, _ bytes: [UInt8]) -> ZoneRules? {
        var file = ZoneFile(bytes: bytes[...])
        guard let first = file.header() else { return nil }
        guard first.version >= 2 else { return file.block(first, timeSize: 4)?.rules(identifier, nil) }
        guard file.take(first.byteCount(timeSize: 4)) != nil, let second = file.header(),
            let block = file.block(second, timeSize: 8)
        else { return nil }
        switch file.footer() {
        case .none: return nil
        case .some(""): return block.rules(identifier, nil)
        case .some(let text):
            guard let rule = PosixZone(text) else { return nil }
            return block.rules(identifier, rule)
        }
    }

    /// The header of a block (RFC 9636, section 3.1).
    private struct Header {
        let version: Int
        let utIndicators: Int
        let standardIndicators: Int
        let leapSeconds: Int
        let times: Int
        let types: Int
        let characters: Int

        func byteCount(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4)
                + standardIndicators
                + utIndicators
        }
    }

    /// The part of a data block (RFC 9636, section 3.2) that defines offsets and their transitions.
    private struct Block {
        let offsets: [Int]
        let transitions: [ZoneRules.Transition]

        func rules(_ identifier: String, _ last: PosixZone?) -> ZoneRules {
            ZoneRules(identifier, firstOffset: offsets[0], transitions: transitions, lastRule: last)
        }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// The big-endian signed number of these bytes.
    private static func number(_ bytes: some Collection<UInt8>) -> Int {
        let value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        let unused = 64 - 8 * bytes.count
        return Int(Int64(bitPattern: value << UInt64(unused)) >> Int64(unused))
    }

    private mutating func header() -> Header? {
        guard let start = take(20), start.starts(with: "TZif".utf8), let counts = take(24) else { return nil }
        let version = start[start.startIndex + 4]
        let digit = UInt8(ascii: "1")...UInt8(ascii: "9")
        var numbers: [Int] = []
        for first in stride(from: counts.startIndex, to: counts.endIndex, by: 4) {
            let number = Self.number(counts[first..<first + 4])
            guard number >= 0 else { return nil }
            numbers.append(number)
        }
        return Header(
            version: digit.contains(version) ? Int(version - UInt8(ascii: "0")) : 1, utIndicators: numbers[0],
            standardIndicators: numbers[1], leapSeconds: numbers[2], times: numbers[3], types: numbers[4],
            characters: numbers[5])
    }

    private mutating func block(_ header: Header, timeSize: Int) -> Block? {
        guard header.leapSeconds == 0, header.types > 0, let data = take(header.byteCount(timeSize: timeSize))
        else { return nil }
        var rest = ZoneFile(bytes: data)
        guard let times = rest.take(header.times * timeSize), let kinds = rest.take(header.times),
            let types = rest.take(header.types * 6)
        else { return nil }
        let offsets = stride(from: types.startIndex, to: types.endIndex, by: 6).map {
            Self.number(types[$0..<$0 + 4])
        }
        // The limits of RFC 9636, section 3.2.
        guard offsets.allSatisfy({ -89_999...93_599 ~= $0 }) else { return nil }
        var transitions: [ZoneRules.Transition] = []
        for (index, kind) in kinds.enumerated() {
            let start = times.startIndex + index * timeSize
            let moment = Self.number(times[start..<start + timeSize])
            guard Int(kind) < offsets.count, moment > transitions.last?.moment ?? .min else { return nil }
            transitions.append(ZoneRules.Transition(moment: moment, offset: offsets[Int(kind)]))
        }
        return Block(offsets: offsets, transitions: transitions)
    }

    /// The line between two line feeds at the end (RFC 9636, section 3.3).
    private mutating func footer() -> String? {
        let newline = UInt8(ascii: "\n")
        guard bytes.first == newline, let end = bytes.dropFirst().firstIndex(of: newline) else { return nil }
        return String(decoding: bytes[(bytes.startIndex + 1)..<end], as: UTF8.self)
    }
}
