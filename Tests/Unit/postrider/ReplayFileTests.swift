import PostriderClients
import PostriderNotifications
import Testing

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
                == "f:3: this line is no capture: write such a file with 'postrider captures --lines'.")
        #expect(error?.exitCode == 2)
    }
}
