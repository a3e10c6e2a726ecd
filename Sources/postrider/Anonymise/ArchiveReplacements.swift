import PostriderCommands

/// What is replaced in an HTTP Archive (HAR 1.2): in the requests and answers that it contains. A text in a member that
/// is not known is replaced.
struct ArchiveReplacements: JSONReplacements {
    private let request: RequestReplacements
    /// The name of the header field whose value is next.
    private var field: String?
    /// Whether the body that is next is in base64.
    private var isEncoded = false

    /// Members of an entry whose texts are words of the format, of HTTP or of the relay, if they look like it.
    private static let plain: Set<String> = [
        "startedDateTime", "_outcome", "request/method", "request/httpVersion", "request/postData/mimeType",
        "request/postData/_encoding", "response/httpVersion", "response/statusText",
        "response/content/mimeType",
    ]
    private static let entry = ["log", "entries", "*"]

    init(_ request: RequestReplacements) { self.request = request }

    mutating func text(_ text: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        guard path.starts(with: Self.entry) else {
            let isKnown = path == ["log", "version"] || path.starts(with: ["log", "creator"])
            return isKnown && request.isWords(text) ? text : request.other(text)
        }
        let place = path.dropFirst(Self.entry.count).joined(separator: "/")
        switch place {
        case "request/headers/*/name", "response/headers/*/name":
            field = text.text
            return text
        case "request/headers/*/value", "response/headers/*/value":
            defer { field = nil }
            return request.field(field, text)
        case "request/url": return request.url(text)
        case "request/postData/text":
            defer { isEncoded = false }
            return isEncoded ? request.base64(text) : request.body(text)
        case "response/content/text": return request.answer(text)
        case "connection": return text.allSatisfy { "0"..."9" ~= $0 } ? text : request.other(text)
        case let place where Self.plain.contains(place) && request.isWords(text):
            if place == "request/postData/_encoding" { isEncoded = text.text == "base64" }
            return text
        default: return request.other(text)
        }
    }

    mutating func name(_ name: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] { name }

    mutating func number(_ number: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] { number }
}
