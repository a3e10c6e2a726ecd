internal import CPostriderCrypto

/// One element of DER (X.690), and the bytes that follow it.
public struct DERElement {
    /// The kinds of elements that are supported. The raw value is the universal tag.
    public enum Kind: CInt, Sendable {
        case sequence = 16
        /// UTF8String.
        case text = 12
    }

    /// The kind of the element.
    public let kind: Kind
    /// The content of the element.
    public let content: ArraySlice<UInt8>
    /// The bytes after the element.
    public let rest: ArraySlice<UInt8>

    /// Reads the first element of these bytes; nil if it is incomplete or of another kind.
    public init?(_ bytes: ArraySlice<UInt8>) {
        var (count, tag, tagClass) = (CLong(0), CInt(0), CInt(0))
        let header = unsafe bytes.withUnsafeBufferPointer { bytes -> Int? in
            guard let first = bytes.baseAddress else { return nil }
            var start: UnsafePointer<UInt8>? = unsafe first
            let flags = unsafe ASN1_get_object(&start, &count, &tag, &tagClass, bytes.count)
            // The flags must be neither an error (0x80) nor an indefinite length (1); an element is constructed if
            // and only if it is a sequence.
            let isConstructed = flags & V_ASN1_CONSTRUCTED != 0
            guard flags & 0x81 == 0, isConstructed == (tag == Kind.sequence.rawValue),
                let start = unsafe start
            else { return nil }
            return unsafe first.distance(to: start)
        }
        ErrorQueue.clear()
        guard let header, tagClass == V_ASN1_UNIVERSAL, let kind = Kind(rawValue: tag) else { return nil }
        self.kind = kind
        content = bytes.dropFirst(header).prefix(count)
        rest = bytes.dropFirst(header + count)
    }

    /// The element as text, and the bytes that follow it; nil if it is not a text.
    public var text: (value: String, rest: ArraySlice<UInt8>)? {
        guard kind == .text, let value = String(validating: content, as: UTF8.self) else { return nil }
        return (value, rest)
    }

    /// Encodes an element in DER.
    public static func der(_ kind: Kind, _ content: [UInt8]) -> [UInt8] {
        let tag = UInt8(kind.rawValue) | (kind == .sequence ? UInt8(V_ASN1_CONSTRUCTED) : 0)
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var count: [UInt8] = []
        var left = content.count
        while left > 0 {
            count.insert(UInt8(truncatingIfNeeded: left), at: 0)
            left >>= 8
        }
        return [tag, 0x80 | UInt8(count.count)] + count + content
    }
}
