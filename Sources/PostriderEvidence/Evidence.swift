import FoundationEssentials
public import PostriderCrypto

/// A statement with the signature of a relay's key: a text that a human can read and a program can check offline.
///
/// The text is a JSON document of one or more lines, and below it one line: a JSON Web Signature with detached content
/// (RFC 7515, appendix F) whose payload is not encoded (RFC 7797), so that what is read is what is signed. The payload
/// is all that stands before the last line, with its line break.
///
///     {
///       "format" : "postrider-evidence-1",
///       …
///     }
///     eyJhbGciOiJFUzI1NiIs…..MEUCIQ…
public struct Evidence: Sendable {
    /// The whole text, without a line break at its end.
    public let text: String
    /// The statement: the JSON document that is signed.
    public let statement: EvidenceStatement

    /// Signs a statement.
    public init(_ statement: EvidenceStatement, signedBy key: ES256.PrivateKey) {
        let payload = Self.json(statement, .prettyPrinted) + "\n"
        let header = Data(
            Self.json(Header(kid: key.publicKey.fingerprint.description)).utf8
        ).base64URL
        let signature = key.signature(for: Self.signingInput(header, payload).span)
        text = "\(payload)\(header)..\(Data(signature).base64URL)"
        self.statement = statement
    }

    /// Reads a text and checks its signature.
    ///
    /// - Parameter key: the public key of the relay, which the reader has from somewhere else than from the text.
    /// - Throws: ``EvidenceError``, if the text is not what the owner of the key has signed.
    public init(_ text: String, verifiedWith key: ES256.PublicKey) throws(EvidenceError) {
        // In bytes: the line break CR LF is one character.
        var bytes = Array(text.utf8)
        while let last = bytes.last, last == Self.newline || last == Self.carriageReturn {
            bytes.removeLast()
        }
        guard let lineBreak = bytes.lastIndex(of: Self.newline) else { throw .notEvidence }
        let payload = String(decoding: bytes[...lineBreak], as: UTF8.self)
        let parts = bytes[(lineBreak + 1)...].split(separator: Self.dot, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, let head = Data(base64URL: parts[0]),
            let header = try? JSONDecoder().decode(Header.self, from: head)
        else { throw .notEvidence }
        guard header.isUnderstood else { throw .unknownAlgorithm }
        let fingerprint = key.fingerprint.description
        guard header.kid == fingerprint else { throw .anotherKey(signed: header.kid, given: fingerprint) }
        let input = Self.signingInput(String(decoding: parts[0], as: UTF8.self), payload)
        guard let signature = Data(base64URL: parts[2]).map(Array.init), signature.count == 64,
            key.isValidSignature(signature.span, for: input.span)
        else { throw .changed }
        // Only what is signed is read.
        guard let statement = try? JSONDecoder().decode(EvidenceStatement.self, from: Data(payload.utf8)),
            statement.format == EvidenceStatement.format
        else { throw .unknownFormat }
        self.text = String(decoding: bytes, as: UTF8.self)
        self.statement = statement
    }

    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let dot = UInt8(ascii: ".")

    /// The header of the signature (RFC 7515, section 4.1; RFC 7797, section 3).
    private struct Header: Codable {
        var alg = "ES256"
        var b64 = false
        var crit = ["b64"]
        /// The fingerprint of the key.
        let kid: String

        /// Whether it is one that this version writes. `crit` names what a reader must understand.
        var isUnderstood: Bool { alg == "ES256" && !b64 && crit == ["b64"] }
    }

    /// The bytes that are signed (RFC 7797, section 3).
    private static func signingInput(_ header: String, _ payload: String) -> [UInt8] {
        Array("\(header).\(payload)".utf8)
    }

    private static func json(
        _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting = []
    ) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("texts, numbers and booleans can be encoded")
        }
        return String(decoding: data, as: UTF8.self)
    }
}

extension Data {
    /// Base64url without padding (RFC 7515, section 2).
    fileprivate var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The bytes of base64url without padding; nil if the text is not that.
    fileprivate init?(base64URL text: ArraySlice<UInt8>) {
        var standard: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: standard.append(byte)
            }
        }
        while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
        self.init(base64Encoded: Data(standard))
    }
}
