/// The code in which HPACK writes strings (RFC 7541, section 5.2 and appendix B), undone ten bits at a time.
struct HuffmanCode: Sendable {
    /// Bits that are looked up at once: all that text is made of has a code of ten bits or fewer.
    private static let lookedUp = 10
    private static let longest = 30

    /// By the next ten bits: the byte that they begin with, and in the upper half how many bits it takes; 0: more.
    private let beginnings: [UInt16]
    /// Of each length: the first code, how many there are, and where their bytes begin in ``ordered``.
    private let ranges: [(first: UInt32, count: UInt32, start: Int)]
    /// All bytes, by code.
    private let ordered: [UInt8]

    static let shared = HuffmanCode()

    private init() {
        let bytes = (0...UInt8.max).sorted {
            (Self.lengths[Int($0)], $0) < (Self.lengths[Int($1)], $1)
        }
        var table = [UInt16](repeating: 0, count: 1 << Self.lookedUp)
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
                    table[Int(code) << free + rest] = UInt16(own) << 8 | UInt16(byte)
                }
            }
            code += 1
        }
        beginnings = table
        self.ranges = ranges
        ordered = bytes
    }

    /// The most bytes that so many bytes of code stand for.
    static func mostBytes(of count: Int) -> Int { count * 8 / 5 }

    /// Undoes the code.
    ///
    /// - Parameter target: has room for ``mostBytes(of:)``.
    /// - Returns: how many bytes there are; nil: this is not written in the code.
    func decode(_ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>) -> Int? {
        let beginnings = beginnings.span
        var (next, written) = (0, 0)
        // The bits that come next stand at the top. Of those below the ones that are available, each is a zero or what
        // it is going to be.
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
                let entry = unsafe beginnings[unchecked: Int(truncatingIfNeeded: bits &>> 54)]
                let length = Int(entry >> 8)
                guard UInt(bitPattern: length &- 1) < UInt(bitPattern: available) else { break }
                unsafe target[written] = UInt8(truncatingIfNeeded: entry)
                written &+= 1
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

    /// The byte that these bits begin with, however long its code is.
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

    /// Whether what is left fills the last byte: fewer than eight bits, all ones.
    private static func isPadding(_ bits: UInt64, _ available: Int) -> Bool {
        available < 8 && bits == ~(~0 >> UInt64(available))
    }

    /// Bits of each byte's code.
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
