/// The bytes of a header block, taken from the front: numbers and strings (RFC 7541, section 5).
@safe
struct HPACKReader {
    /// A string as it lies there.
    @safe
    struct Text {
        let bytes: UnsafeBufferPointer<UInt8>
        /// Whether it is written in Huffman's code.
        let isCode: Bool

        /// Appends what it says. False: it says nothing.
        @inline(__always)
        func read(onto target: inout HPACKWriter) -> Bool {
            guard !isCode else { return unsafe target.append(decoding: bytes) }
            unsafe target.append(bytes)
            return true
        }
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    /// Where the next byte lies.
    private(set) var place = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe self.bytes = bytes }

    /// The next byte, which stays; nil: there is none.
    var following: UInt8? { unsafe place < bytes.count ? bytes[place] : nil }

    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(rebasing: bytes[range])
    }

    /// Passes over these bytes, if they are the next ones; there are some.
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

    /// A number that begins in the last `bits` of a byte; nil: it is not complete, or has more bytes than the library
    /// takes.
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

    /// The next string.
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
