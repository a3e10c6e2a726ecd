import PostriderNotifications

/// An http or https URL that is written so plainly that every parser reads the same in it: no user, no fragment, no dot
/// segments, no escapes that stand for a dot, a slash or a backslash in its path.
public struct CallbackURL: Hashable, Sendable {
    /// The URL as it was written.
    public let text: String
    /// Scheme, host and port, in lower case, such as `https://hooks.example.com:443`.
    public let origin: String
    /// The path without the query; at least `/`.
    let path: String
    /// Whether it has a query.
    let hasQuery: Bool

    /// Reads a text; nil if it is no such URL.
    public init?(_ text: String) {
        guard 1...Limits.callbackURLBytes ~= text.utf8.count,
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !Self.forbidden.contains($0) }),
            let colon = text.firstRange(of: "://")
        else { return nil }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        let rest = text[colon.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let authority = Self.authority(rest[..<end], usualPort: scheme == "http" ? 80 : 443) else {
            return nil
        }
        let tail = rest[end...]
        let mark = tail.firstIndex(of: "?")
        let path = tail[..<(mark ?? tail.endIndex)]
        guard Self.isPlain(path) else { return nil }
        self.text = text
        origin = "\(scheme)://\(authority)"
        self.path = path.isEmpty ? "/" : String(path)
        hasQuery = mark != nil
    }

    /// Characters that RFC 3986 does not have in a URL, `#`, and the backslash, which some parsers take for a slash.
    private static let forbidden = Set("\"#<>\\^`{|}".utf8)

    /// Host and port in lower case; nil if they are not written as such.
    private static func authority(_ text: Substring, usualPort: Int) -> String? {
        let isLiteral = text.hasPrefix("[")
        let hostEnd =
            isLiteral
            ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":") ?? text.endIndex
        guard let hostEnd else { return nil }
        let host = text[..<hostEnd].lowercased()
        let name = isLiteral ? host.dropFirst().dropLast() : host[...]
        let allowed = isLiteral ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz-_."
        guard !name.isEmpty, name.allSatisfy(allowed.contains) else { return nil }
        guard hostEnd < text.endIndex else { return "\(host):\(usualPort)" }
        let digits = text[text.index(after: hostEnd)...]
        guard text[hostEnd] == ":", digits.allSatisfy(\.isNumber), let port = UInt16(digits), port > 0 else {
            return nil
        }
        return "\(host):\(port)"
    }

    private static func isPlain(_ path: Substring) -> Bool {
        let small = path.lowercased()
        guard !["%2e", "%2f", "%5c", "%00"].contains(where: small.contains) else { return false }
        return !path.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }
}

/// The URLs to which the operator lets the relay send callbacks.
public struct CallbackPolicy: Sendable, Equatable {
    private let prefixes: [CallbackURL]

    /// Allows URLs that begin with one of these; nil if one of them is no ``CallbackURL`` or has a query.
    public init?(prefixes texts: [String]) {
        let prefixes = texts.compactMap(CallbackURL.init)
        guard !texts.isEmpty, texts.count <= Limits.callbackPrefixes, prefixes.count == texts.count,
            !prefixes.contains(where: \.hasQuery)
        else { return nil }
        self.prefixes = prefixes
    }

    /// The URL in a text, if it is allowed: it has the origin of a prefix, and its path is that of the prefix or lies
    /// below it.
    public func url(_ text: String) -> CallbackURL? {
        guard let url = CallbackURL(text) else { return nil }
        return prefixes.contains { Self.covers($0, url) } ? url : nil
    }

    private static func covers(_ prefix: CallbackURL, _ url: CallbackURL) -> Bool {
        guard prefix.origin == url.origin else { return false }
        let folder = prefix.path.hasSuffix("/") ? prefix.path : prefix.path + "/"
        return url.path == prefix.path || url.path.hasPrefix(folder)
    }
}
