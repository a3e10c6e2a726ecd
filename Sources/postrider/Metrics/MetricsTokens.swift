import FoundationEssentials
import PostriderCrypto

/// The bearer tokens with which metrics are read, each known by its SHA-256 alone: whoever reads the file cannot use
/// it.
struct MetricsTokens: Sendable {
    private let digests: [SHA256Digest]

    /// No tokens: nobody has to show one.
    init() { digests = [] }

    /// Reads a file with a digest of 64 hexadecimal digits at the beginning of each line, as `sha256sum` writes them.
    /// Empty lines and those that begin with `#` are skipped.
    ///
    /// - Throws: one sentence that names the file, and the line that is wrong.
    init(file: String) throws(CommandFailure) {
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

    /// Whether somebody may read, with this value of `Authorization` (RFC 6750, section 2.1).
    func admit(_ authorization: String?) -> Bool {
        guard !digests.isEmpty else { return true }
        guard let authorization, let space = authorization.firstIndex(of: " "),
            authorization[..<space].lowercased() == "bearer"
        else { return false }
        let token = authorization[space...].drop { $0 == " " }
        let digest = SHA256.digest(Array(token.utf8).span)
        // Each is compared, and in constant time: how long it takes tells nothing of any.
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
