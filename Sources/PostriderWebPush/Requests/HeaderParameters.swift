internal import PostriderNotifications

/// The parameters of `Authorization: vapid`, `Crypto-Key` and `Encryption`: `name=value`, separated by commas or
/// semicolons, with or without quotes.
///
/// Values are base64, so a separator cannot occur in them. If a name occurs more than once, its first value counts.
struct HeaderParameters {
    private var values: [String: String] = [:]

    init(_ text: some StringProtocol) {
        for part in text.split(whereSeparator: { $0 == "," || $0 == ";" }) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            let name = pair[0].trimmed.lowercased()
            var value = pair[1].trimmed
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            if values[name] == nil { values[name] = value }
        }
    }

    subscript(name: String) -> String? { values[name] }
}
