import PostriderCommands

/// What is replaced in a capture as a line of JSON (docs/reference/captures.md), but for its payload.
struct CaptureReplacements: JSONReplacements {
    private let request: RequestReplacements
    private let payload: PayloadReplacements
    /// The name of the header field whose value is next.
    private var field: String?

    /// Members whose texts are words of the relay, of TLS or of APNs, if they look like it.
    private static let plain: Set<String> = [
        "answer/reason", "claims/alg", "connection/alpn", "connection/tls/cipher", "connection/tls/version",
        "environment", "events/*/kind", "outcome", "pushType",
    ]

    init(_ request: RequestReplacements) {
        self.request = request
        payload = request.payload
    }

    mutating func text(_ text: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        // It is here only in a line that the relay did not write.
        if path.first == "payload" { return payload.text(text, at: Array(path.dropFirst())) }
        let place = path.joined(separator: "/")
        switch place {
        case "headers/*/name", "answer/headers/*/name":
            field = text.text
            return text
        case "headers/*/value", "answer/headers/*/value":
            defer { field = nil }
            return request.field(field, text)
        case "answer/body": return request.answer(text)
        case "token": return request.pseudonyms.replacement(of: text, as: .token)
        case "topic": return request.topic(text)
        case "body": return request.base64(text)
        case "connection/peer", "connection/tls/serverName":
            return request.pseudonyms.replacement(of: text, as: .separated)
        case let place where Self.plain.contains(place) && request.isWords(text): return text
        default: return request.other(text)
        }
    }

    mutating func name(_ name: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        path.first == "payload" ? payload.name(name, at: Array(path.dropFirst())) : name
    }

    mutating func number(_ number: [Unicode.Scalar], at path: [String]) -> [Unicode.Scalar] {
        path.first == "payload" ? payload.number(number, at: Array(path.dropFirst())) : number
    }
}
