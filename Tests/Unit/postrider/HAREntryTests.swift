import Foundation
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("A capture in an HTTP Archive")
struct HAREntryTests {
    private static func entry(_ line: String) throws -> [String: Any] {
        let text = try HAREntry(line: line).json
        let entry = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(entry as? [String: Any])
    }

    private static let head =
        #"{"at":1800000000500,"bodyBytes":30,"connection":{"number":3,"peer":"127.0.0.1:4"},"headers":["#
        + #"{"name":":method","value":"POST"},{"name":":scheme","value":"https"},"#
        + #"{"name":":authority","value":"localhost:2197"},{"name":":path","value":"/3/device/aa"},"#
        + #"{"name":"apns-topic","value":"com.example.app"}],"id":"ID-1","#

    @Test("has the request as it came, with its payload byte for byte")
    func request() throws {
        let payload = #"{ "aps" : {"alert":"a,\"payload\":b"}, "n": 1.50 }"#
        let entry = try Self.entry(
            Self.head
                + #""outcome":"captured","answer":{"at":1800000000512,"status":200},"payload":\#(payload)}"#)
        let request = try #require(entry["request"] as? [String: Any])
        #expect(request["method"] as? String == "POST" && request["httpVersion"] as? String == "HTTP/2")
        #expect(request["url"] as? String == "https://localhost:2197/3/device/aa")
        #expect(request["bodySize"] as? Int == 30)
        let body = try #require(request["postData"] as? [String: Any])
        #expect(body["text"] as? String == payload && body["mimeType"] as? String == "application/json")
        let headers = try #require(request["headers"] as? [[String: String]])
        #expect(headers.last == ["name": "apns-topic", "value": "com.example.app"])
        #expect(entry["startedDateTime"] as? String == "2027-01-15T08:00:00.500Z")
        #expect(entry["time"] as? Int == 12 && entry["connection"] as? String == "3")
    }

    @Test("has the answer as APNs has it, and the rule that gave it")
    func answer() throws {
        let entry = try Self.entry(
            Self.head + #""outcome":"scripted","rule":{"number":2,"name":"gone"},"#
                + #""answer":{"at":1800000000500,"status":410,"reason":"Unregistered","#
                + #""timestamp":7,"retryAfter":5}}"#
        )
        let response = try #require(entry["response"] as? [String: Any])
        #expect(response["status"] as? Int == 410)
        let content = try #require(response["content"] as? [String: Any])
        #expect(content["text"] as? String == #"{"reason":"Unregistered","timestamp":7}"#)
        #expect(content["size"] as? Int == 39)
        let headers = try #require(response["headers"] as? [[String: String]])
        #expect(headers == [["name": "apns-id", "value": "ID-1"], ["name": "retry-after", "value": "5"]])
        #expect((entry["_rule"] as? [String: Any])?["name"] as? String == "gone")
    }

    @Test("has status 0 if there was no answer, and another body than JSON in base64")
    func noAnswer() throws {
        let entry = try Self.entry(Self.head + #""body":"AAE=","outcome":"reset"}"#)
        let response = try #require(entry["response"] as? [String: Any])
        #expect(response["status"] as? Int == 0 && entry["_outcome"] as? String == "reset")
        let body = try #require((entry["request"] as? [String: Any])?["postData"] as? [String: Any])
        #expect(body["text"] as? String == "AAE=" && body["_encoding"] as? String == "base64")
    }
}
