/// Why a text is no evidence of the owner of a key, as one sentence.
public enum EvidenceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text is not a JSON document with a line of signature below it: it is something else, or its end is missing.
    case notEvidence
    /// The signature was made by another algorithm than ES256, or needs something that this version does not
    /// understand.
    case unknownAlgorithm
    /// Another key has signed it; the keys by their fingerprints.
    case anotherKey(signed: String, given: String)
    /// The signature does not fit the text.
    case changed
    /// The signature fits, and the statement is not of this version.
    case unknownFormat

    /// What is wrong, and what to do.
    public var description: String {
        switch self {
        case .notEvidence:
            "There is no signature in its last line: it is not evidence of a relay, or its end is missing."
        case .unknownAlgorithm:
            "Its signature is not one that this version makes: check it with a newer 'postrider evidence'."
        case .anotherKey(let signed, let given):
            "It is signed by the key \(Self.printable(signed)), and the given key is \(given)."
        case .changed: "The signature does not fit: the text was changed after it was signed."
        case .unknownFormat:
            "The signature is good, and the statement is of another version: check it with a newer version."
        }
    }

    /// A text of a stranger without what a terminal would obey, and without its end if it is long.
    private static func printable(_ text: String) -> String {
        String(text.prefix(64).filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
    }
}
