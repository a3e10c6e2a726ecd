import PostriderRelay

extension APNsCompatibility {
    /// Takes on what the user has set of it, and leaves the rest.
    ///
    /// - Parameter word: what is set of a setting, checked to be one of these words; nil: nothing.
    mutating func read(_ word: (Setting, [String]) throws -> String?) rethrows {
        if let word = try word(.strictness, ["strict", "lenient"]) { isStrict = word == "strict" }
        if let word = try word(.storage, StorageDepth.allCases.map(\.rawValue)) {
            storage = StorageDepth(rawValue: word) ?? storage
        }
        if let word = try word(.spellings, ["documented", "live"]) { usesLiveSpellings = word == "live" }
        if let word = try word(.streamLimitRamp, ["true", "false"]) { rampsStreamLimit = word == "true" }
    }
}
