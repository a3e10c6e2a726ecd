import Foundation
import PostriderKit
import Testing

@Suite("A user info")
struct UserInfoValueTests {
    @Test("is read from the JSON of a payload")
    func reading() throws {
        let text =
            #"{"aps":{"alert":{"title":"é","loc":["a",1]},"badge":3},"n":null,"t":true,"d":1.5,"e":1e30}"#
        let info = try UserInfo(json: text.utf8)
        let expected: UserInfo = [
            "aps": ["alert": ["title": "é", "loc": ["a", 1]], "badge": 3],
            "n": nil, "t": true, "d": 1.5, "e": 1e30,
        ]
        #expect(info == expected)
    }

    @Test(
        "that is no JSON object is refused",
        arguments: ["", "[1]", "1", "null", "{", #"{"a":}"#, "{\"a\":\"\u{1}\"}"])
    func refusal(_ text: String) {
        #expect(throws: UserInfoError.self) { try UserInfo(json: text.utf8) }
    }

    @Test("keeps the ends of what 64 bits hold")
    func integers() throws {
        let info = try UserInfo(
            json: #"{"a":-9223372036854775808,"b":9223372036854775807,"c":9223372036854775808}"#.utf8)
        #expect(info["a"] == .integer(.min))
        #expect(info["b"] == .integer(.max))
        #expect(info["c"] == .unsigned(9_223_372_036_854_775_808))
        #expect(info["c"]?.integer == nil && info["c"]?.double == 9_223_372_036_854_775_808)
        #expect(info["a"]?.unsigned == nil && info["b"]?.unsigned == UInt64(Int64.max))
    }

    @Test("survives a way through JSON")
    func roundTrip() throws {
        let info: UserInfo = ["a": [nil, true, 1, 2.5, "x", ["b": []]], "c": [:]]
        #expect(try UserInfo(json: JSONEncoder().encode(info)) == info)
    }

    @Test("gives each value in its own type only")
    func accessors() {
        let values: [UserInfoValue] = [nil, true, 1, 2.5, "x", [1], ["a": 1]]
        #expect(values.compactMap(\.boolean) == [true])
        #expect(values.compactMap(\.integer) == [1])
        #expect(values.compactMap(\.double) == [1, 2.5])
        #expect(values.compactMap(\.string) == ["x"])
        #expect(values.compactMap(\.array) == [[1]])
        #expect(values.compactMap(\.dictionary) == [["a": 1]])
        #expect(values.compactMap { $0["a"] } == [1])
    }
}
