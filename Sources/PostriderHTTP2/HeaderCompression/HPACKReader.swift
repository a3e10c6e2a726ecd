/// Reads the integers and strings of a header block (RFC 7541, section 5) from its front.
@safe
struct HPACKReader {
    /// A string literal (section 5.2) as it was sent.
    @safe
    struct Text {
        let bytes: UnsafeBufferPointer<UInt8>
        /// Whether it is Huffman-coded.
        let isCode: Bool

        /// Appends the decoded string. False: it is not a valid Huffman code.
        @inline(__always)
        func read(onto target: inout HPACKWriter) -> Bool {
            guard !isCode else { return unsafe target.append(decoding: bytes) }
            unsafe target.append(bytes)
            return true
        }
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    /// The position of the next byte.
    private(set) var place = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = bytes }

    /// The next byte, which is not consumed; nil at the end.
    var following: UInt8? { unsafe place < bytes.count ? bytes[place] : nil }

    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(rebasing: bytes[range])
    }

    /// Skips these bytes if they come next. False if they do not, or are empty.
    mutating func take(_ known: [UInt8]) -> Bool {
        guard !known.isEmpty, unsafe known.count <= bytes.count - place,
            unsafe bytes(place..<place + known.count).isSame(as: known)
        else { return false }
        place += known.count
        return true
    }

    @inline(__always)
    mutating func next() -> UInt8? {
        guard unsafe place < bytes.count else { return nil }
        let byte = unsafe bytes[place]
        place &+= 1
        return byte
    }

    /// Reads an integer whose prefix is the last `bits` of a byte (section 5.1). Nil if it is incomplete, or has more
    /// bytes than nghttp2 accepts.
    @inline(__always)
    mutating func number(_ first: UInt8, bits: UInt8) -> Int? {
        let most = UInt8(1) &<< bits &- 1
        let start = Int(first & most)
        return start < Int(most) ? start : longNumber(from: start)
    }

    private mutating func longNumber(from start: Int) -> Int? {
        var (number, shift) = (start, 0)
        while shift <= 28, let byte = next() {
            number += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }

    /// Reads the next string; nil if it is incomplete.
    mutating func string() -> Text? {
        guard let first = next(), let count = number(first, bits: 7), unsafe count <= bytes.count - place
        else {
            return nil
        }
        let text = unsafe UnsafeBufferPointer(rebasing: bytes[place..<place + count])
        place += count
        return unsafe Text(bytes: text, isCode: first & 0x80 != 0)
    }
}
