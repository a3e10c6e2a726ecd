import Foundation
import PostriderClients
import PostriderNotifications
import PostriderSeededRandom
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("An anonymised file of captures")
struct AnonymisedFileTests {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let token = String(repeating: "0aB1", count: 16)
    private static let bearer =
        "bearer "
        + ["{\"alg\":\"ES256\",\"kid\":\"KEYOFALICE\"}", "{\"iss\":\"TEAMOFBOB1\",\"iat\":1800000000}"]
        .map { Data($0.utf8).base64EncodedString().replacing("=", with: "") }.joined(separator: ".")
        + ".(masked)"

    private static func anonymise(
        _ text: String, key: [UInt8] = key, _ choice: RequestReplacements.Choice = .init()
    ) throws -> String {
        try AnonymisedFile(text, file: "f", key: key, choice).text
    }

    /// A capture as the relay writes it.
    private static func line(
        _ payload: String = #"{"aps":{"alert":"Tea"}}"#, collapse: String = "order-4711", id: String = "x",
        topic: String = "com.example.app"
    ) -> String {
        let headers = [
            (":method", "POST"), (":path", "/3/device/\(token)"), (":authority", "push.example.com:2197"),
            ("authorization", bearer), ("apns-topic", topic), ("apns-priority", "5"),
            ("apns-push-type", "alert"), ("apns-collapse-id", collapse), ("user-agent", "alices-app/1.0"),
        ]
        let fields = headers.map { #"{"name":"\#($0)","value":"\#($1)"}"# }.joined(separator: ",")
        return #"{"answer":{"at":1800000000004,"reason":"BadTopic","status":400},"at":1800000000000,"#
            + #""bodyBytes":\#(payload.utf8.count),"claims":{"alg":"ES256","iat":1800000000,"#
            + #""iss":"TEAMOFBOB1","kid":"KEYOFALICE"},"connection":{"alpn":"h2","number":3,"#
            + #""peer":"192.0.2.17:4711"},"headers":[\#(fields)],"id":"\#(id)","outcome":"refused","#
            + #""pushType":"alert","rule":{"name":"for alice","number":1},"#
            + #""token":"\#(token.lowercased())","topic":"\#(topic)","payload":\#(payload)}"#
    }

    private static func object(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private static func headers(_ line: some StringProtocol) throws -> [String: String] {
        let fields = try #require(try object(line)["headers"] as? [[String: String]])
        return Dictionary(
            uniqueKeysWithValues: fields.map { ($0["name", default: ""], $0["value", default: ""]) })
    }

    @Test("has other tokens, identifiers and texts of the same lengths, and the same words of APNs")
    func capture() throws {
        let line = Self.line(id: "6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D")
        let made = try Self.anonymise(line + "\n")
        #expect(made.utf8.count == line.utf8.count + 1)
        let secrets = [
            "Tea", "order-4711", "alice", "push.example.com", "192.0.2.17", "KEYOFALICE", "TEAMOFBOB1",
            "6F0C2E5A", Self.token, Self.token.lowercased(), Self.bearer.dropFirst(7).dropLast(9).description,
        ]
        for secret in secrets { #expect(!made.contains(secret), "\(secret)") }
        let (object, headers) = (try Self.object(made), try Self.headers(made))
        #expect(headers["apns-priority"] == "5" && headers["apns-push-type"] == "alert")
        #expect(headers[":method"] == "POST" && headers["apns-topic"] == "com.example.app")
        #expect(object["at"] as? Int == 1_800_000_000_000 && object["outcome"] as? String == "refused")
        #expect((object["answer"] as? [String: Any])?["reason"] as? String == "BadTopic")
        #expect((object["id"] as? String).flatMap(UUID.init(uuidString:)) != nil)
        let token = try #require(object["token"] as? String)
        #expect(token.count == 64 && token.allSatisfy(\.isHexDigit))
        #expect(headers[":path"] == "/3/device/\(token)")
    }

    @Test("has the same team and key in the claims and in the provider token")
    func claims() throws {
        let made = try Self.anonymise(Self.line())
        let claims = try #require(try Self.object(made)["claims"] as? [String: Any])
        let bearer = try #require(try Self.headers(made)["authorization"])
        let parts = bearer.dropFirst("bearer ".count).split(separator: ".")
        func members(_ part: Substring) throws -> [String: Any] {
            let padded = part + String(repeating: "=", count: (4 - part.count % 4) % 4)
            return try Self.object(
                String(decoding: try #require(Data(base64Encoded: String(padded))), as: UTF8.self))
        }
        #expect(bearer.hasPrefix("bearer ") && parts.count == 3 && parts[2] == "(masked)")
        #expect(try members(parts[0])["kid"] as? String == claims["kid"] as? String)
        #expect(try members(parts[0])["alg"] as? String == "ES256")
        #expect(try members(parts[1])["iss"] as? String == claims["iss"] as? String)
        #expect(try members(parts[1])["iat"] as? Int == 1_800_000_000)
        #expect(claims["kid"] as? String != "KEYOFALICE" && (claims["kid"] as? String)?.count == 10)
    }

    @Test("has one replacement for a value wherever it is, and different ones for different values")
    func sameness() throws {
        let payload = #"{"aps":{"thread-id":"order-4711","alert":"order\u002d4711"},"x":"order-4712"}"#
        let made = try Self.anonymise(
            [Self.line(payload), Self.line(collapse: "order-4712")]
                .joined(separator: "\n"))
        let lines = made.split(separator: "\n")
        let body = try #require(try Self.object(lines[0])["payload"] as? [String: Any])
        let aps = try #require(body["aps"] as? [String: Any])
        let collapse = try Self.headers(lines[0])["apns-collapse-id"]
        #expect(aps["thread-id"] as? String == collapse && aps["alert"] as? String == collapse)
        let other = try Self.headers(lines[1])["apns-collapse-id"]
        #expect(other != collapse && body.values.contains { $0 as? String == other })

        let values = (0..<10).map { String($0) } + ["a", "b", "c"]
        let short = try Self.anonymise(values.map { Self.line(collapse: $0) }.joined(separator: "\n"))
        let collapses = try short.split(separator: "\n").map { try Self.headers($0)["apns-collapse-id"] }
        #expect(Set(collapses).count == values.count)
    }

    @Test("has replacements that only the key decides")
    func keys() throws {
        let line = Self.line()
        #expect(try Self.anonymise(line) == Self.anonymise(line))
        let others = try (UInt8(0)..<20).map { number in
            try Self.headers(Self.anonymise(line, key: [UInt8](repeating: number, count: 16)))[
                "apns-collapse-id"]
        }
        #expect(Set(others).count == 20)
    }

    @Test("keeps the names that Apple defines, and other names only if asked to")
    func names() throws {
        let payload =
            #"{"aps":{"alert":{"title":"a","secret":1},"badge":123456},"title":12345,"#
            + #""alice@example":0.12345}"#
        func made(_ choice: RequestReplacements.Choice) throws -> [String: Any] {
            let made = try Self.anonymise(Self.line(payload), choice)
            return try #require(try Self.object(made)["payload"] as? [String: Any])
        }
        let body = try made(.init())
        let aps = try #require(body["aps"] as? [String: Any])
        let alert = try #require(aps["alert"] as? [String: Any])
        #expect(aps["badge"] as? Int == 123_456 && alert["title"] is String)
        #expect(alert["secret"] == nil && alert.values.contains { $0 as? Int == 1 })
        #expect(body["title"] == nil && body["alice@example"] == nil && body.count == 3)
        let numbers = body.values.compactMap { $0 as? Double }
        #expect(
            numbers.allSatisfy { $0 != 12_345 && $0 != 0.12345 && (0..<1 ~= $0 || 10_000..<100_000 ~= $0) })
        #expect(try made(.init(keepsNames: true)).keys.sorted() == ["alice@example", "aps", "title"])
    }

    @Test("keeps topics unless asked not to, and then an app's topics belong together")
    func topics() throws {
        let lines = Self.line() + "\n" + Self.line(topic: "com.example.app.voip")
        let made = try Self.anonymise(lines, .init(replacesTopics: true)).split(separator: "\n")
        let topics = try made.map { try #require(try Self.object($0)["topic"] as? String) }
        #expect(topics[1] == topics[0] + ".voip" && topics[0] != "com.example.app")
        #expect(topics[0].split(separator: ".").map(\.count) == [3, 7, 3])
        #expect(try made.map { try Self.headers($0)["apns-topic"] } == topics)
    }

    @Test("can be replayed: each payload is JSON of the same length", arguments: [1, 2, 3] as [UInt64])
    func drawn(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            let payload = Self.payload(&random)
            let made = try Self.anonymise(Self.line(payload))
            let file = try ReplayFile(made, file: "f", now: Moment(milliseconds: 0))
            let push = try #require(file.items.first?.push, "\(payload)")
            #expect(push.payload.count == payload.utf8.count && push.topic?.text == "com.example.app")
            let (old, new) = (
                try Self.object(payload), try Self.object(String(decoding: push.payload, as: UTF8.self))
            )
            #expect(Self.shape(old) == Self.shape(new), "\(payload)")
            #expect(try Self.anonymise(Self.line(payload)) == made)
        }
    }

    @Test("takes as deep a payload as the relay takes")
    func depth() throws {
        let payload = String(repeating: #"{"a":"#, count: 64) + "1" + String(repeating: "}", count: 64)
        #expect(try Self.anonymise(Self.line(payload)).utf8.count == Self.line(payload).utf8.count + 1)
    }

    @Test("has text in the place of a body that is no JSON, of the same length")
    func bodies() throws {
        let secret = Data("alice's secret, and \u{0}".utf8).base64EncodedString()
        let made = try Self.anonymise(
            #"{"at":1,"bodyBytes":21,"headers":[],"token":"aa","body":"\#(secret)"}"#)
        let body = try #require(
            (try Self.object(made)["body"] as? String).flatMap { Data(base64Encoded: $0) })
        #expect(body.count == 21 && body.allSatisfy { $0.isLetterOrDigit })
        #expect(!String(decoding: body, as: UTF8.self).contains("alice"))
    }

    @Test("may be an HTTP Archive, whose requests get the same replacements")
    func archive() throws {
        let line = Self.line(#"{"aps":{"alert":"a \"quoted\"\n/text\ud83d\ude00"}}"#)
        let text = HAREntry.head + (try HAREntry(line: line).json) + HAREntry.tail
        let made = try Self.anonymise(text)
        #expect(made.utf8.count == text.utf8.count + 1)
        let log = try #require(try Self.object(made)["log"] as? [String: Any])
        let entry = try #require((log["entries"] as? [[String: Any]])?.first)
        let request = try #require(entry["request"] as? [String: Any])
        let single = try Self.anonymise(line)
        let (path, host) = (try Self.headers(single)[":path"], try Self.headers(single)[":authority"])
        #expect(request["url"] as? String == "://\(host ?? "?")\(path ?? "?")")
        let body = try #require((request["postData"] as? [String: Any])?["text"] as? String)
        #expect(single.hasSuffix(#","payload":\#(body)}"# + "\n"))
        let response = try #require(entry["response"] as? [String: Any])
        #expect((response["content"] as? [String: Any])?["text"] as? String == #"{"reason":"BadTopic"}"#)
        #expect(!made.contains("quoted") && !made.contains("alice") && entry["connection"] as? String == "3")
    }

    @Test(
        "is refused at the first line that is no capture",
        arguments: ["{}", "x", #"{"at":1}"#, #"{"at":1,"bodyBytes":0,"headers":[],"payload":{]}"#, "[]"])
    func mistakes(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try Self.anonymise(Self.line() + "\n\n" + text) }
        #expect(
            error?.sentence
                == "f:3: this line is no capture: write such a file with 'postrider captures --lines' or "
                + "'postrider captures --har'.")
        #expect(error?.exitCode == 2)
    }

    @Test("is refused if there are no captures")
    func nothing() {
        let error = #expect(throws: CommandFailure.self) { try Self.anonymise("\n \n") }
        #expect(error?.sentence == "f has no captures: write it with 'postrider captures --lines'.")
    }

    // MARK: Drawn payloads

    /// The kinds, places and lengths of all values.
    private static func shape(_ value: Any) -> String {
        switch value {
        case let members as [String: Any]:
            let parts = members.map { (name, value) in "\(name.utf8.count)\(shape(value))" }
            return "{" + parts.sorted().joined(separator: ",") + "}"
        case let elements as [Any]: return "[" + elements.map(shape).joined(separator: ",") + "]"
        case let text as String: return "\"\(text.utf8.count)"
        case is NSNull: return "null"
        default: return "number"
        }
    }

    private static func payload(_ random: inout SplitMix64) -> String {
        let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in member(&random, depth: 0) }
        return "{"
            + ([#""aps": {"alert":\#(text(&random)),"sound":"default"}"#] + members).joined(separator: " ,")
            + "}"
    }

    private static func member(_ random: inout SplitMix64, depth: Int) -> String {
        let name = #""\#(UInt32.random(in: 1_000_000...9_999_999, using: &random))""#
        return name + ": " + value(&random, depth: depth)
    }

    private static func value(_ random: inout SplitMix64, depth: Int) -> String {
        let count = Int.random(in: 0...2, using: &random)
        switch Int.random(in: 0..<(depth < 4 ? 7 : 5), using: &random) {
        case 0: return ["null", "true", "false"][count]
        case 1: return "\(Int64.random(in: -100...10_000_000_000, using: &random))"
        case 2: return ["-0.5", "1.25e10", "9223372036854775807"][count]
        case 5:
            return "[" + (0..<count).map { _ in value(&random, depth: depth + 1) }.joined(separator: ", ")
                + "]"
        case 6:
            return "{" + (0..<count).map { _ in member(&random, depth: depth + 1) }.joined(separator: ",")
                + "}"
        default: return text(&random)
        }
    }

    private static let parts = [
        "a", "Z", "7", " ", "/", "é", "日", "😀", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u00e9"#, #"\u0007"#,
        #"\ud83d\ude00"#, #"\u65E5"#, "@", "=", "\u{7F}", "e\u{301}",
    ]

    private static func text(_ random: inout SplitMix64) -> String {
        let drawn = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            parts.randomElement(using: &random) ?? ""
        }
        return "\"" + drawn.joined() + "\""
    }
}
