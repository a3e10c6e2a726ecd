import FoundationEssentials
import PostriderCommands

/// A capture as an entry of an HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which tools for
/// network traces read. What the format has no member for is in members that begin with `_`, as it asks for.
struct HAREntry: Encodable {
    struct Field: Codable, Equatable {
        let name: String
        let value: String
    }

    struct Body: Encodable, Equatable {
        let mimeType: String
        let text: String
        /// `base64` if the text is in that encoding. The format has no member for it in a request.
        let encoding: String?

        enum CodingKeys: String, CodingKey {
            case mimeType, text
            case encoding = "_encoding"
        }
    }

    struct Request: Encodable {
        let method: String
        let url: String
        let httpVersion = "HTTP/2"
        let cookies: [Field] = []
        let headers: [Field]
        let queryString: [Field] = []
        let postData: Body?
        /// The format's word for "not known": the fields were compressed.
        let headersSize = -1
        let bodySize: Int
    }

    struct Content: Encodable {
        let size: Int
        let mimeType = "application/json"
        let text: String
    }

    struct Response: Encodable {
        /// 0 if there was no answer.
        let status: Int
        let statusText = ""
        let httpVersion = "HTTP/2"
        let cookies: [Field] = []
        let headers: [Field]
        let content: Content
        let redirectURL = ""
        let headersSize = -1
        let bodySize: Int
    }

    /// Milliseconds.
    struct Timings: Encodable {
        let send = 0
        let wait: Int64
        let receive = 0
    }

    struct Cache: Encodable {}

    let startedDateTime: String
    /// Milliseconds from the end of the request to its answer; 0 if there was none.
    let time: Int64
    let request: Request
    let response: Response
    let cache = Cache()
    let timings: Timings
    let connection: String
    let outcome: String
    let rule: Capture.Rule?

    enum CodingKeys: String, CodingKey {
        case startedDateTime, time, request, response, cache, timings, connection
        case outcome = "_outcome"
        case rule = "_rule"
    }

    /// The parts of a capture in JSON (docs/reference/captures.md) that an entry has.
    struct Capture: Decodable {
        struct Answer: Decodable {
            let at: Int64
            let status: Int
            let reason: String?
            let timestamp: Int64?
            let retryAfter: Int?
            let headers: [Field]?
            let body: String?
        }

        struct Connection: Decodable { let number: Int }

        struct Rule: Codable {
            let number: Int
            let name: String?
        }

        let at: Int64
        let connection: Connection
        let headers: [Field]
        let body: String?
        let bodyBytes: Int
        let id: String
        let answer: Answer?
        let outcome: String
        let rule: Rule?
    }

    /// The entry for a capture, which is given as a line of JSON.
    ///
    /// - Throws: `DecodingError` if the line has no capture.
    init(line: some StringProtocol) throws {
        let line = try CaptureLine(Array(line.utf8))
        let capture = try line.decode(Capture.self)
        let fields = capture.headers
        let field = { (name: String) in fields.first { $0.name == name }?.value ?? "" }
        let text = line.payload.map { String(decoding: $0, as: UTF8.self) } ?? capture.body
        let type = field("content-type")
        let waited = capture.answer.map { max(0, $0.at - capture.at) } ?? 0
        let answer = capture.answer?.text ?? ""
        startedDateTime = Listing.preciseTime(capture.at)
        time = waited
        request = Request(
            method: field(":method"), url: "\(field(":scheme"))://\(field(":authority"))\(field(":path"))",
            headers: fields,
            postData: text.map {
                Body(
                    mimeType: type.isEmpty ? "application/json" : type, text: $0,
                    encoding: line.payload == nil ? "base64" : nil)
            },
            bodySize: capture.bodyBytes)
        response = Response(
            status: capture.answer?.status ?? 0,
            headers: capture.answer.map { answer in
                answer.headers ?? [Field(name: "apns-id", value: capture.id)]
                    + (answer.retryAfter.map { [Field(name: "retry-after", value: "\($0)")] } ?? [])
            } ?? [],
            content: Content(size: answer.utf8.count, text: answer), bodySize: answer.utf8.count)
        timings = Timings(wait: waited)
        connection = "\(capture.connection.number)"
        outcome = capture.outcome
        rule = capture.rule
    }

    /// The entry as JSON.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// What stands before the entries of an archive, which commas separate.
    static var head: String {
        #"{"log":{"version":"1.2","creator":{"name":"postrider","version":"\#(Program.version)"},"#
            + #""pages":[],"entries":["#
    }

    /// What stands behind them.
    static let tail = "]}}"
}

extension HAREntry.Capture.Answer {
    /// The body of the answer: empty for 200, else the reason as APNs has it.
    fileprivate var text: String {
        if let body { return body }
        guard let reason else { return "" }
        return #"{"reason":"\#(reason)""# + (timestamp.map { ",\"timestamp\":\($0)" } ?? "") + "}"
    }
}
