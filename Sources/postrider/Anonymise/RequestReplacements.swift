import FoundationEssentials
import PostriderCommands
import PostriderJSON
import PostriderNotifications

/// What is replaced in a request: in its path and header fields, and in its body.
struct RequestReplacements {
    /// What the user wants to be replaced.
    struct Choice: Sendable {
        /// Whether topics are replaced, too.
        var replacesTopics = false
        /// Whether the names of all members of payloads stay.
        var keepsNames = false
    }

    let pseudonyms: Pseudonyms
    private let choice: Choice

    init(_ pseudonyms: Pseudonyms, _ choice: Choice) {
        self.pseudonyms = pseudonyms
        self.choice = choice
    }

    /// The replacements in a payload.
    var payload: PayloadReplacements { PayloadReplacements(pseudonyms, keepsNames: choice.keepsNames) }

    /// Fields whose values are words of HTTP or of APNs, if they look like it.
    private static let plainFields: Set<String> = [
        ":method", ":scheme", "accept", "accept-encoding", "apns-expiration", "apns-priority",
        "apns-push-type", "content-encoding", "content-length", "content-type", "te", "retry-after",
    ]

    /// The replacement of the value of a header field; nil for the name if it is not known.
    func field(_ name: String?, _ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        switch name {
        case let name? where Self.plainFields.contains(name): isWords(value) ? value : other(value)
        case ":path": path(value)
        case ":authority", "host": pseudonyms.replacement(of: value, as: .separated)
        case "apns-topic": topic(value)
        case "authorization": authorization(value)
        default: other(value)
        }
    }

    /// The replacement of any other value.
    func other(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] { pseudonyms.replacement(of: value) }

    /// The replacement of a topic. The suffix for a push type stays, so that the topic of an app and its topics with
    /// suffixes still belong together.
    func topic(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        guard let topic = Topic(value.text) else { return other(value) }
        guard choice.replacesTopics else { return value }
        let bundle = Array(topic.bundle.text.unicodeScalars)
        return pseudonyms.replacement(of: bundle, as: .separated) + value.dropFirst(bundle.count)
    }

    /// The replacement of a path of APNs: the device token, the topic, and whatever is no word of APNs.
    func path(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        var before = ""
        let parts = value.split(separator: "/", omittingEmptySubsequences: false).map(Array.init)
        let made = parts.map { part in
            defer { before = part.text }
            switch before {
            case "device": return pseudonyms.replacement(of: part, as: .token)
            case "apps": return topic(part)
            default: return Self.pathWords.contains(part.text) ? part : other(part)
            }
        }
        return Array(made.joined(separator: ["/"]))
    }

    private static let pathWords: Set<String> = [
        "", "1", "3", "4", "device", "apps", "broadcasts", "channels", "all-channels",
    ]

    /// The replacement of a URL: of its host and its path.
    func url(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        let text = value.text
        guard let scheme = text.firstRange(of: "://") else { return path(value) }
        let start = text[..<scheme.upperBound].unicodeScalars
        let rest = text[scheme.upperBound...].unicodeScalars
        let host = rest.prefix { $0 != "/" }
        return Array(start) + pseudonyms.replacement(of: Array(host), as: .separated)
            + path(Array(rest.dropFirst(host.count)))
    }

    /// The replacement of a body that is no JSON object, in base64: text of the same length.
    func base64(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        guard let bytes = Data(base64Encoded: value.text) else { return other(value) }
        let made = pseudonyms.bytes(for: Array(bytes))
        let text = Array(Data(made).base64EncodedString().unicodeScalars)
        return text.count == value.count ? text : other(value)
    }

    /// The replacement of a body as text, which keeps its form if it is a JSON object.
    func body(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        guard let made = JSONRewriter.rewrite(Array(value.text.utf8), with: payload) else {
            return other(value)
        }
        return Array(String(decoding: made, as: UTF8.self).unicodeScalars)
    }

    /// The replacement of the body of an answer: that of APNs stays, any other is treated like a payload.
    func answer(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
        Self.isAnswerOfAPNs(text.text) ? text : body(text)
    }

    /// Whether a body is empty, or an object with a reason and perhaps a timestamp, spelt as APNs does.
    private static func isAnswerOfAPNs(_ text: String) -> Bool {
        guard !text.isEmpty else { return true }
        let members = JSONValue.members(ofObject: Array(text.utf8).span)
        guard let reason = members?["reason"]?.string, (1...64).contains(reason.utf8.count),
            reason.utf8.allSatisfy(\.isLetterOrDigit)
        else { return false }
        let timestamp = members?["timestamp"]?.wholeNumber.map { ",\"timestamp\":\($0)" } ?? ""
        return text == "{\"reason\":\"\(reason)\"\(timestamp)}"
    }

    /// The replacement of a provider token: the key identifier and the team in it, and its signature.
    private func authorization(_ value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        guard let space = value.firstIndex(of: " ") else { return other(value) }
        let parts = value[(space + 1)...].split(separator: ".", omittingEmptySubsequences: false)
        let made = parts.map { part in
            part.elementsEqual(Self.mask) ? Array(part) : claims(Array(part)) ?? other(Array(part))
        }
        return Array(value[...space]) + made.joined(separator: ["."])
    }

    /// What the relay puts in the place of a secret.
    private static let mask = Array("(masked)".unicodeScalars)

    /// The replacement of a part of a provider token; nil if it is not JSON in base64url.
    private func claims(_ part: [Unicode.Scalar]) -> [Unicode.Scalar]? {
        let text = part.text.replacing("-", with: "+").replacing("_", with: "/")
        let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: padded),
            let made = JSONRewriter.rewrite(Array(data), with: ClaimsReplacements(request: self))
        else { return nil }
        let output = Data(made).base64EncodedString().filter { $0 != "=" }
            .replacing("+", with: "-").replacing("/", with: "_")
        return output.utf8.count == part.count ? Array(output.unicodeScalars) : nil
    }

    /// Whether a value consists of words and numbers that a protocol defines.
    func isWords(_ value: [Unicode.Scalar]) -> Bool {
        value.count <= 64
            && value.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0.value < 0x7F && $0 != "@" }
    }
}

/// What is replaced in the claims of a provider token: all texts but the algorithm. Times stay.
private struct ClaimsReplacements: JSONReplacements {
    let request: RequestReplacements

    func text(_ text: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        ["alg", "typ"].contains(path.last) && request.isWords(text) ? text : request.other(text)
    }

    func name(_ name: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] { name }

    func number(_ number: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] { number }
}
