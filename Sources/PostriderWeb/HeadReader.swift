import PostriderNotifications

/// Reads the lines of a head (RFC 9112, sections 2 to 5).
///
/// It is strict where leniency has led to smuggled requests: lines end with CR LF, nothing stands between a name and
/// its colon, lines are not folded, and the length of the body is stated once.
enum HeadReader {
    /// How long the body is.
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    /// The head in these lines, which come without their CR LF, and the framing of its body.
    static func read(_ lines: [ArraySlice<UInt8>]) throws(HTTPViolation) -> (RequestHead, Framing) {
        guard let first = lines.first else { throw .wrongRequestLine }
        let parts = first.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, isToken(parts[0]) else { throw .wrongRequestLine }
        let isOfHTTP10 = try isHTTP10(parts[2])
        let target = try target(parts[1], isOfOptions: parts[0].elementsEqual("OPTIONS".utf8))
        guard lines.count - 1 <= Limits.webHeadFields else { throw .longHead }
        var fields: [RequestHead.Field] = []
        for line in lines.dropFirst() { fields.append(try field(line)) }
        let head = RequestHead(
            method: String(decoding: parts[0], as: UTF8.self), target: target, fields: fields,
            isOfHTTP10: isOfHTTP10)
        let hosts = head.values(of: "host")
        guard hosts.count == 1 || hosts.isEmpty && isOfHTTP10 else { throw .wrongHost }
        return (head, try framing(of: head))
    }

    /// Reads one field, of a head or of trailers.
    static func field(_ line: ArraySlice<UInt8>) throws(HTTPViolation) -> RequestHead.Field {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else {
            throw .wrongField
        }
        let value = line[(colon + 1)...]
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw .wrongField }
        return RequestHead.Field(
            String(decoding: line[..<colon], as: UTF8.self).lowercased(),
            String(decoding: value, as: UTF8.self).trimmedOfBlanks)
    }

    private static func isHTTP10(_ version: ArraySlice<UInt8>) throws(HTTPViolation) -> Bool {
        if version.elementsEqual("HTTP/1.1".utf8) { return false }
        if version.elementsEqual("HTTP/1.0".utf8) { return true }
        throw version.starts(with: "HTTP/".utf8) && version.count == 8 ? .wrongVersion : .wrongRequestLine
    }

    /// The path and query of a target in origin form or in absolute form (RFC 9112, section 3.2).
    private static func target(
        _ bytes: ArraySlice<UInt8>, isOfOptions: Bool
    ) throws(HTTPViolation) -> String {
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .wrongRequestLine
        }
        if bytes.first == UInt8(ascii: "/") { return String(decoding: bytes, as: UTF8.self) }
        if isOfOptions, bytes.elementsEqual("*".utf8) { return "*" }
        let text = String(decoding: bytes, as: UTF8.self)
        let lower = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else {
            throw .wrongRequestLine
        }
        let rest = text.dropFirst(scheme.utf8.count)
        guard let slash = rest.firstIndex(of: "/") else { return "/" }
        return String(rest[slash...])
    }

    private static func framing(of head: RequestHead) throws(HTTPViolation) -> Framing {
        let codings = head.values(of: "transfer-encoding")
        let lengths = head.values(of: "content-length")
        guard codings.isEmpty else {
            guard lengths.isEmpty, !head.isOfHTTP10 else { throw .ambiguousLength }
            guard codings.count == 1, codings[0].lowercased() == "chunked" else { throw .wrongCoding }
            return .chunked
        }
        guard let length = lengths.first else { return .length(0) }
        guard lengths.count == 1 else { throw .ambiguousLength }
        guard !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .wrongLength
        }
        guard length.utf8.count <= 9, let count = Int(length) else { throw .longBody }
        return .length(count)
    }

    /// Whether this is a token (RFC 9110, section 5.6.2).
    private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }
}
