/// Whether two runs of bytes are the same, in a time that depends on their lengths only: for secrets, of
/// which a stranger may try many and measure how soon each is refused.
///
/// Every byte is looked at, eight at a time: OpenSSL's comparison takes them one by one, which is a thirtieth of what a
/// push costs.
public func constantTimeEquals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    let words = left.count / 8
    var difference: UInt64 = 0
    unsafe left.withUnsafeBytes { left in
        unsafe right.withUnsafeBytes { right in
            for word in 0..<words {
                let own = unsafe left.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self)
                difference |= unsafe own ^ right.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self)
            }
        }
    }
    for index in 8 * words..<left.count { difference |= UInt64(left[index] ^ right[index]) }
    return difference == 0
}
