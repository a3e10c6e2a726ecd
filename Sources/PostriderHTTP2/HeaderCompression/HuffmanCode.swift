/// The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B), decoded twelve bits at a time. Characters of text
/// have codes of five to eight bits, so twelve bits are mostly two characters.
struct HuffmanCode: Sendable {
    /// How many bits are looked up at once.
    private static let lookedUp = 12
    private static let longest = 30

    /// By the next twelve bits: the first byte, the second byte if its code is complete, how many bytes these are, and
    /// how many bits they use. 0 if the first code is longer than twelve bits.
    private let beginnings: [UInt32]
    /// By length of the code: the first code, how many codes there are, and where their bytes begin in ``ordered``.
    private let ranges: [(first: UInt32, count: UInt32, start: Int)]
    /// All bytes in the order of their codes.
    private let ordered: [UInt8]

    static let shared = HuffmanCode()

    private init() {
        let bytes = (0...UInt8.max).sorted {
            (Self.lengths[Int($0)], $0) < (Self.lengths[Int($1)], $1)
        }
        var table = [UInt32](repeating: 0, count: 1 << Self.lookedUp)
        var ranges = [(first: UInt32, count: UInt32, start: Int)](
            repeating: (0, 0, 0), count: Self.longest + 1)
        // The code is canonical: codes of one length follow each other in the order of their bytes.
        var (code, length): (UInt32, Int) = (0, 0)
        for (place, byte) in bytes.enumerated() {
            let own = Int(Self.lengths[Int(byte)])
            code <<= UInt32(own - length)
            if own != length { ranges[own] = (code, 0, place) }
            length = own
            ranges[own].count += 1
            if own <= Self.lookedUp {
                let free = Self.lookedUp - own
                for rest in 0..<1 << free {
                    table[Int(code) << free + rest] = UInt32(own) << 24 | 1 << 16 | UInt32(byte)
                }
            }
            code += 1
        }
        beginnings = table.indices.map { Self.pair(table, $0) }
        self.ranges = ranges
        ordered = bytes
    }

    /// A table entry of one byte, completed with the second byte if its code lies in the same bits.
    private static func pair(_ singles: [UInt32], _ bits: Int) -> UInt32 {
        let first = singles[bits]
        let own = first >> 24
        let second = singles[bits << Int(own) & (singles.count - 1)]
        let both = own + (second >> 24)
        guard own > 0, second > 0, both <= lookedUp else { return first }
        return both << 24 | 2 << 16 | (second & 0xFF) << 8 | first & 0xFF
    }

    /// The size of the buffer for `count` bytes of code: the most bytes that they can stand for, and one more, because
    /// the decoder writes a byte before it knows whether there is one.
    static func mostBytes(of count: Int) -> Int { count * 8 / 5 + 1 }

    /// Decodes a string.
    ///
    /// - Parameter target: has room for ``mostBytes(of:)``.
    /// - Returns: how many bytes were written; nil if this is not a valid code.
    func decode(_ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>) -> Int? {
        let beginnings = beginnings.span
        var (next, written) = (0, 0)
        // The next bits are the most significant ones. Bits below the available ones are zero, or already have their
        // right value.
        var (bits, available): (UInt64, Int) = (0, 0)
        while true {
            if next + 8 <= source.count {
                let base = unsafe UnsafeRawPointer(source.baseAddress.unsafelyUnwrapped)
                let word = unsafe base.loadUnaligned(fromByteOffset: next, as: UInt64.self).bigEndian
                bits |= word &>> UInt64(available)
                let taken = (63 - available) >> 3
                next += taken
                available += 8 * taken
            } else {
                while available <= 56, next < source.count {
                    bits |= unsafe UInt64(source[next]) &<< UInt64(56 - available)
                    next += 1
                    available += 8
                }
            }
            while true {
                let entry = unsafe beginnings[unchecked: Int(truncatingIfNeeded: bits &>> 52)]
                let length = Int(entry >> 24)
                guard UInt(bitPattern: length &- 1) < UInt(bitPattern: available) else { break }
                unsafe target[written] = UInt8(truncatingIfNeeded: entry)
                unsafe target[written &+ 1] = UInt8(truncatingIfNeeded: entry >> 8)
                written &+= Int(entry >> 16 & 0xFF)
                bits = bits &<< UInt64(length)
                available &-= length
            }
            if next < source.count, available < Self.longest { continue }
            guard let (byte, length) = head(bits, available) else {
                return next == source.count && Self.isPadding(bits, available) ? written : nil
            }
            unsafe target[written] = byte
            written += 1
            bits <<= UInt64(length)
            available -= length
        }
    }

    /// The byte whose code, of any length, comes first in these bits.
    private func head(_ bits: UInt64, _ available: Int) -> (UInt8, Int)? {
        guard available >= 5 else { return nil }
        for length in 5...Self.longest {
            let range = ranges[length]
            let code = UInt32(truncatingIfNeeded: bits >> UInt64(64 - length))
            guard code >= range.first, code - range.first < range.count else { continue }
            return length <= available ? (ordered[range.start + Int(code - range.first)], length) : nil
        }
        return nil
    }

    /// Whether the rest is valid padding (section 5.2): fewer than eight bits, all ones.
    private static func isPadding(_ bits: UInt64, _ available: Int) -> Bool {
        available < 8 && bits == ~(~0 >> UInt64(available))
    }

    /// The length of each byte's code, in bits.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
        6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
        7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
        23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
        22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
        23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
        27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
        24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    ]
}
