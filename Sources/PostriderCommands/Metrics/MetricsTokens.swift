import FoundationEssentials
import PostriderCrypto

/// The bearer tokens that permit reading metrics. Only their SHA-256 digests are known, so a reader of the file
/// cannot use them.
package struct MetricsTokens: Sendable {
    private let digests: [SHA256Digest]

    /// Creates an empty list: no token is required.
    package init() { digests = [] }

    /// Reads a file whose lines begin with a digest of 64 hexadecimal digits, as `sha256sum` writes them. Empty lines
    /// and lines that begin with `#` are skipped.
    ///
    /// - Throws: one sentence that names the file and the wrong line.
    package init(file: String) throws(CommandFailure) {
        let text = try FileText.readUnchangeable(file, "The file of metrics-token")
        var digests: [SHA256Digest] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let word = line.split(whereSeparator: \.isWhitespace).first, !word.hasPrefix("#") else {
                continue
            }
            guard let digest = Self.digest(word) else {
                throw CommandFailure(
                    "\(file):\(index + 1): this is no SHA-256; \(Self.advice)", exitCode: 2)
            }
            digests.append(digest)
        }
        guard !digests.isEmpty else {
            throw CommandFailure("The file \(file) of metrics-token is empty: \(Self.advice)", exitCode: 2)
        }
        self.digests = digests
    }

    private static let advice =
        "write the 64 hexadecimal digits that 'printf %s TOKEN | sha256sum' prints."

    /// Whether a request with this `Authorization` header may read (RFC 6750, section 2.1).
    package func admit(_ authorization: String?) -> Bool {
        guard !digests.isEmpty else { return true }
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        let token = authorization[space...].drop { $0 == " " }
        let digest = SHA256.digest(Array(token.utf8).span)
        // Every digest is compared, and in constant time, so that the duration reveals nothing about any.
        return digests.reduce(false) { found, known in
            constantTimeEquals(known.bytes.span, digest.bytes.span) || found
        }
    }

    private static func digest(_ word: Substring) -> SHA256Digest? {
        guard word.utf8.count == 2 * SHA256Digest.byteCount else { return nil }
        var bytes: [UInt8] = []
        var rest = word
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return SHA256Digest(bytes: bytes)
    }
}
