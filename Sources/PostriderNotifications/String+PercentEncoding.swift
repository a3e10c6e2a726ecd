extension String {
    /// The text with everything percent-encoded but the unreserved characters (RFC 3986, sections 2.1 and 2.3).
    package var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
