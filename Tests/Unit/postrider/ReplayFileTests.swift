import PostriderClients
import PostriderNotifications
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("A file of captures")
struct ReplayFileTests {
    private static let now = Moment(milliseconds: 1_000_000)

    /// A line as the relay writes it.
    private static func line(
        at milliseconds: Int, token: String? = "aa01", headers: [(String, String)] = [],
        payload: String = #"{"aps":{"alert":"Tea"}}"#, bodyBytes: Int? = nil
    ) -> String {
        let fields = headers.map { #"{"name":"\#($0)","value":"\#($1)"}"# }.joined(separator: ",")
        let path = token.map { #","token":"\#($0)""# } ?? ""
        let count = bodyBytes ?? payload.utf8.count
        return #"{"at":\#(milliseconds),"bodyBytes":\#(count),"headers":[\#(fields)],"#
            + #""outcome":"captured","topic":"com.example.app"\#(path),"payload":\#(payload)}"#
    }

    private static func read(_ lines: [String]) throws -> ReplayFile {
        try ReplayFile(lines.joined(separator: "\n") + "\n", file: "f", now: now)
    }

    @Test("keeps the payload byte for byte, and the headers that a push has")
    func push() throws {
        let payload = #"{ "aps" : {"alert":"a,\"payload\":b"}, "n": 1.50, "payload":{} }"#
        let headers = [
            ("apns-push-type", "alert"), ("apns-priority", "5"), ("apns-collapse-id", "c"), ("apns-id", "x"),
        ]
        let file = try Self.read([Self.line(at: 500, headers: headers, payload: payload)])
        let push = try #require(file.items.first?.push)
        #expect(push.payload == Array(payload.utf8))
        #expect(push.deviceToken == "aa01" && push.topic?.text == "com.example.app")
        #expect(push.pushType == .alert && push.priority?.rawValue == 5 && push.collapseIdentifier == "c")
        #expect(push.identity == nil && push.expiration == nil)
    }

    @Test("counts times from the first push on, in whatever order the lines are")
    func times() throws {
        let file = try Self.read([
            Self.line(at: 700), Self.line(at: 500), Self.line(at: 200, token: nil), Self.line(at: 1500),
        ])
        #expect(file.items.map(\.offset) == [0, 200, 1000])
        #expect(file.skipped == 1)
    }

    @Test("moves an expiration with the time, but for one that is none")
    func expiration() throws {
        func expiration(_ seconds: String) throws -> Expiration? {
            try Self.read([Self.line(at: 400_000, headers: [("apns-expiration", seconds)])]).items[0].push
                .expiration
        }
        #expect(try expiration("460") == .at(Moment(seconds: 1060)))
        #expect(try expiration("0") == .nowOrNever)
        #expect(try expiration("soon") == nil)
        #expect(try expiration("9223372036854775807") == nil)
    }

    @Test("skips a body that was not kept as a whole, and sends one that is no JSON as it was")
    func bodies() throws {
        #expect(try Self.read([Self.line(at: 1, bodyBytes: 100_000)]).items.isEmpty)
        let raw = #"{"at":1,"bodyBytes":3,"headers":[],"token":"aa01","body":"YWJj"}"#
        #expect(try Self.read([raw]).items.first?.push.payload == Array("abc".utf8))
        let empty = #"{"at":1,"bodyBytes":0,"headers":[],"token":"aa01"}"#
        #expect(try Self.read([empty]).items.first?.push.payload == [])
    }

    @Test(
        "is refused at the first line that is no capture",
        arguments: [
            "{}", "[]", "x", #"{"at":1}"#, #"{"at":1,"bodyBytes":0,"headers":[],"payload":}"#, "}",
            #"{"at":-1,"bodyBytes":0,"headers":[]}"#,
            #"{"at":9223372036854775807,"bodyBytes":0,"headers":[]}"#,
        ])
    func mistakes(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try Self.read([Self.line(at: 1), "", text]) }
        #expect(
            error?.sentence
                == "f:3: this line is no capture: write such a file with 'postrider captures --lines' or "
                + "'postrider captures --har'.")
        #expect(error?.exitCode == 2)
    }

    /// The archive of lines, as `postrider captures --har` writes it.
    private static func archive(_ lines: [String]) throws -> String {
        HAREntry.head + (try lines.map { try HAREntry(line: $0).json }.joined(separator: ",")) + HAREntry.tail
    }

    /// A line that has all that an archive needs, for a push with this body.
    private static func archivable(at milliseconds: Int, _ body: String, bytes: Int) -> String {
        let headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/aa01"),
            ("apns-topic", "com.example.app"), ("apns-push-type", "alert"), ("apns-expiration", "460"),
        ].map { #"{"name":"\#($0)","value":"\#($1)"}"# }.joined(separator: ",")
        return #"{"at":\#(milliseconds),"bodyBytes":\#(bytes),"connection":{"number":1},"id":"x","#
            + #""outcome":"captured","token":"aa01","topic":"com.example.app","#
            + #""headers":[\#(headers)],\#(body)}"#
    }

    @Test("may be an HTTP Archive, from which the same pushes come at the same times")
    func archives() throws {
        let payload = #"{ "aps" : {"alert":"a\n\"ü🙂\u00e9 \/"}, "n": 1.50 }"#
        let lines = [
            Self.archivable(at: 400_700, #""payload":\#(payload)"#, bytes: payload.utf8.count),
            Self.archivable(at: 400_001, #""body":"AP8=""#, bytes: 2),
            Self.archivable(at: 400_900, #""payload":{}"#, bytes: 100_000),
        ]
        let (plain, archived) = (try Self.read(lines), try Self.read([try Self.archive(lines)]))
        #expect(archived.items.map(\.offset) == [0, 699] && archived.skipped == 1)
        #expect(archived.items.map { "\($0.push)" } == plain.items.map { "\($0.push)" } && plain.skipped == 1)
        #expect(archived.items.map(\.push.payload) == [[0x00, 0xFF], Array(payload.utf8)])
    }

    @Test("may be the archive of another tool, which writes names, times and lengths in its own way")
    func foreign() throws {
        let text = """
            {
              "log": {"version": "1.2", "entries": [
                {"startedDateTime": "2027-01-15T09:00:00+01:00", "time": 1, "request": {
                  "method": "POST", "url": "https://api.push.apple.com:443/3/device/aa01", "bodySize": -1,
                  "headers": [{"name": "Apns-Topic", "value": "com.example.app"}],
                  "postData": {"mimeType": "application/json", "text": "{}"}}},
                {"startedDateTime": "2027-01-15T08:00:00.25Z", "request": {
                  "method": "GET", "url": "https://api.push.apple.com/3/device/aa01", "headers": []}},
                {"startedDateTime": "2027-01-15T08:00:02.250Z", "request": {
                  "method": "POST", "url": "https://api.push.apple.com/3/device/aa02", "headers": []}}
              ]}
            }
            """
        let file = try Self.read([text])
        #expect(file.items.map(\.offset) == [0, 2250] && file.skipped == 1)
        #expect(file.items.map(\.push.deviceToken) == ["aa01", "aa02"])
        #expect(file.items[0].push.topic?.text == "com.example.app" && file.items[1].push.topic == nil)
        #expect(file.items[0].push.payload == Array("{}".utf8) && file.items[1].push.payload == [])
    }

    @Test(
        "is refused with the place of what an archive lacks",
        arguments: [
            (
                #"{"startedDateTime":"2027-01-15T08:00:00Z","request":{"url":"u","headers":[]}}"#,
                "[0].request.method"
            ),
            (
                #"{"startedDateTime":"noon","request":{"method":"POST","url":"u","headers":[]}}"#,
                "[0].startedDateTime"
            ),
            (#"{"request":{"method":"POST","url":"u","headers":[]}}"#, "[0].startedDateTime"),
            (#"{"startedDateTime":"2027-01-15T08:00:00Z"}"#, "[0].request"),
            (#"{"startedDateTime":7}"#, "[0].startedDateTime"),
        ])
    func archiveMistakes(_ entry: String, _ place: String) {
        let error = #expect(throws: CommandFailure.self) {
            try Self.read([#"{"log":{"entries":[\#(entry)]}}"#])
        }
        #expect(error?.sentence.hasPrefix("f: 'log.entries\(place)' of this HTTP Archive is ") == true)
        #expect(error?.exitCode == 2)
    }
}
