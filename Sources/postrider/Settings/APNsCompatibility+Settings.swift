import PostriderCommands
import PostriderNotifications

extension APNsCompatibility {
    /// Takes over the values that the user has set, and leaves the others unchanged.
    ///
    /// - Parameter word: returns the value of a setting, checked to be one of these words; nil if it is not set.
    mutating func read(_ word: (Setting, [String]) throws -> String?) rethrows {
        if let word = try word(.strictness, ["strict", "lenient"]) { isStrict = word == "strict" }
        if let word = try word(.storage, StorageDepth.allCases.map(\.rawValue)) {
            storage = StorageDepth(rawValue: word) ?? storage
        }
        if let word = try word(.spellings, ["documented", "live"]) { usesLiveSpellings = word == "live" }
        if let word = try word(.streamLimitRamp, ["true", "false"]) { rampsStreamLimit = word == "true" }
    }
}
