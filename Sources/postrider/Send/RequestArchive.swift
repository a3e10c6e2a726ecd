import FoundationEssentials
import PostriderCommands
import PostriderJSON

/// The requests of an HTTP Archive (HAR 1.2), as `postrider captures --har` and other tools write it.
struct RequestArchive {
    /// A field of a request's header.
    struct Field: Decodable {
        let name: String
        let value: String
    }

    /// A request's body.
    struct Body: Decodable {
        let text: String?
        /// `base64` if the text is in that encoding. Our archives have it, because the format has no member for it.
        let encoding: String?

        enum CodingKeys: String, CodingKey {
            case text
            case encoding = "_encoding"
        }
    }

    /// A request.
    struct Request: Decodable {
        let method: String
        let url: String
        let headers: [Field]
        let postData: Body?
        /// The body's length in bytes; -1 if the tool did not know it.
        let bodySize: Int?
    }

    /// A request, and when it was made.
    struct Entry: Decodable {
        let startedDateTime: String
        let request: Request
    }

    private struct File: Decodable {
        struct Log: Decodable { let entries: [Entry] }
        let log: Log
    }

    /// The requests in their order.
    let entries: [Entry]

    /// Whether a text is an archive, although its entries may lack something.
    static func isArchive(_ text: String) -> Bool {
        struct Archive: Decodable {
            struct Log: Decodable { let entries: [Entry] }
            struct Entry: Decodable {}
            let log: Log
        }
        return JSONSyntax.isObject(Array(text.utf8).span)
            && (try? JSONDecoder().decode(Archive.self, from: Data(text.utf8))) != nil
    }

    /// Reads an archive.
    ///
    /// - Parameter file: the name of the file in errors.
    /// - Throws: ``CommandFailure`` that names the first entry that lacks something.
    init(_ text: String, file: String) throws(CommandFailure) {
        do {
            entries = try JSONDecoder().decode(File.self, from: Data(text.utf8)).log.entries
        } catch let error as DecodingError {
            throw Self.mistake(in: error.path, of: file)
        } catch {
            throw Self.mistake(in: [], of: file)
        }
    }

    /// The error for what is at this place of an archive.
    static func mistake(in path: [any CodingKey], of file: String) -> CommandFailure {
        let place = path.reduce("") { text, key in
            key.intValue.map { "\(text)[\($0)]" }
                ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
        }
        return CommandFailure(
            "\(file): '\(place)' of this HTTP Archive is missing or no such value as HAR 1.2 has: write "
                + "such a file with 'postrider captures --har'.", exitCode: 2)
    }
}

extension RequestArchive.Entry {
    /// When the request was made, in milliseconds since 1970; nil if that is no time (ISO 8601).
    var milliseconds: Int64? {
        let precise = try? Date(
            startedDateTime, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        guard let date = precise ?? (try? Date(startedDateTime, strategy: .iso8601)) else { return nil }
        return Int64((date.timeIntervalSince1970 * 1000).rounded())
    }
}

extension RequestArchive.Request {
    /// The path of the URL.
    var path: Substring {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        return rest.firstIndex(of: "/").map { rest[$0...] } ?? ""
    }

    /// The device token to which this request pushes; nil if it is no push to one.
    var token: String? {
        let start = "/3/device/"
        guard method == "POST", path.hasPrefix(start), path.count > start.count else { return nil }
        return String(path.dropFirst(start.count))
    }

    /// The bytes of the body; nil if its text is not in the encoding that it names.
    var body: [UInt8]? {
        guard let text = postData?.text else { return [] }
        guard postData?.encoding == "base64" else { return Array(text.utf8) }
        return Data(base64Encoded: text).map { Array($0) }
    }
}

extension DecodingError {
    /// Where the fault is.
    fileprivate var path: [any CodingKey] {
        switch self {
        case .keyNotFound(let key, let context): context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath
        @unknown default: []
        }
    }
}
