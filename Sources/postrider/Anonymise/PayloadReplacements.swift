import PostriderCommands

/// What is replaced in a payload (docs/reference/captures.md): every text but words that Apple defines, the names of
/// members but Apple's, and long numbers of the app.
struct PayloadReplacements: JSONReplacements {
    private let pseudonyms: Pseudonyms
    private let keepsNames: Bool

    /// The names that Apple defines: in a payload, in `aps`, in its `alert` and in its `sound`.
    private static let names: [String: Set<String>] = [
        "": ["aps", "mdm"],
        "aps": [
            "alert", "attributes", "attributes-type", "badge", "category", "content-available",
            "content-changed", "content-state", "dismissal-date", "event", "filter-criteria",
            "input-push-channel", "input-push-token", "interruption-level", "mutable-content",
            "relevance-score", "sound", "stale-date", "target-content-id", "thread-id", "timestamp",
            "url-args",
        ],
        "aps/alert": [
            "action", "action-loc-key", "body", "launch-image", "loc-args", "loc-key", "subtitle",
            "subtitle-loc-args", "subtitle-loc-key", "summary-arg", "summary-arg-count", "title",
            "title-loc-args", "title-loc-key",
        ],
        "aps/sound": ["critical", "name", "volume"],
    ]

    /// The texts that Apple defines.
    private static let words: [String: Set<String>] = [
        "aps/event": ["start", "update", "end"],
        "aps/interruption-level": ["passive", "active", "time-sensitive", "critical"],
        "aps/sound": ["default"],
        "aps/sound/name": ["default"],
    ]

    /// Names that no other name gets.
    static let reservedNames = names.values.reduce(into: Set<String>()) { $0.formUnion($1) }

    /// A number with at least as many digits may identify somebody: it may be an account, a place or a time.
    private static let digits = 5

    init(_ pseudonyms: Pseudonyms, keepsNames: Bool) {
        self.pseudonyms = pseudonyms
        self.keepsNames = keepsNames
    }

    func text(_ text: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        let isApples = Self.words[path.joined(separator: "/")]?.contains(text.text) == true
        return isApples ? text : pseudonyms.replacement(of: text)
    }

    func name(_ name: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        let isApples = Self.names[path.joined(separator: "/")]?.contains(name.text) == true
        return keepsNames || isApples ? name : pseudonyms.replacement(of: name)
    }

    func number(_ number: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        // Those directly in `aps` are counts, flags and times of the system.
        if path.count == 2, path[0] == "aps", Self.names["aps"]?.contains(path[1]) == true { return number }
        let mantissa = number.prefix { $0 != "e" && $0 != "E" }
        guard mantissa.count(where: { "0"..."9" ~= $0 }) >= Self.digits else { return number }
        return pseudonyms.replacement(of: number, as: .number)
    }
}

extension [Unicode.Scalar] {
    /// The characters as a text.
    var text: String { String(String.UnicodeScalarView(self)) }
}
