import Foundation
import PostriderJSON
import PostriderSeededRandom
import Testing

@Suite("JSON syntax")
struct JSONSyntaxTests {
    private func isObject(_ bytes: [UInt8]) -> Bool { JSONSyntax.isObject(bytes.span) }

    @Test(
        "takes one object",
        arguments: [
            "{}", " \t\r\n{ } ", #"{"":""}"#, #"{"a":1}"#, #"{"a":[]}"#,
            #"{"a":{"b":{}},"c":[1,[2,{"d":3}]]}"#,
            #"{"a":1,"a":2}"#, #"{"a":true,"b":false,"c":null}"#, #"{"a":-0,"b":0.0,"c":-12.5e+10,"d":1E-2}"#,
            #"{"a":1e999999}"#, #"{"a":123456789012345678901234567890}"#,
            #"{"\"\\\/\b\f\n\r\t\u00fF":"\uD800"}"#,
            #"{ "a" : [ 1 , 2 ] , "b" : "c" }"#, #"{"ключ":"日本😀"}"#,
            "{\"\u{7F}\":\"\u{10FFFF}\"}",
        ]
    )
    func valid(_ text: String) {
        #expect(isObject(Array(text.utf8)))
    }

    @Test(
        "takes nothing else",
        arguments: [
            "", " ", "[]", "1", "\"a\"", "null", "{", "}", "{}{}", "{} x", "{,}", #"{"a"}"#, #"{"a":}"#,
            #"{"a":1,}"#,
            #"{"a":1 "b":2}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":[1,]}"#, #"{"a":[,1]}"#, #"{"a":[1}}"#,
            #"{"a":{]}"#,
            #"{"a":[1 2]}"#, #"{"a":01}"#, #"{"a":-}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#,
            #"{"a":1e}"#,
            #"{"a":1e+}"#, #"{"a":0x1}"#, #"{"a":NaN}"#, #"{"a":tru}"#, #"{"a":True}"#, #"{"a":nulls}"#,
            #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u12G4"}"#, #"{"a":"\"#, #"{"a":"b}"#, "{\"a\":\"\n\"}",
            "{\"a\":\"\u{0}\"}", "{\"a\":\"\u{1F}\"}", #"{1:2}"#, #"{"a"::1}"#, "\u{FEFF}{}", "{/**/}",
            "{\u{A0}}",
            "{\u{B}}",
        ]
    )
    func invalid(_ text: String) {
        #expect(!isObject(Array(text.utf8)))
    }

    @Test(
        "takes the well-formed sequences of UTF-8",
        arguments: [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xEC, 0xBF, 0xBF], [0xED, 0x9F, 0xBF],
            [0xEE, 0x80, 0x80],
            [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF3, 0xBF, 0xBF, 0xBF], [0xF4, 0x8F, 0xBF, 0xBF],
        ] as [[UInt8]]
    )
    func wellFormed(_ bytes: [UInt8]) {
        #expect(isObject(Array("{\"".utf8) + bytes + Array("\":\"".utf8) + bytes + Array("\"}".utf8)))
    }

    @Test(
        "refuses every other sequence",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x7F], [0xC2, 0xC0],
            [0xE0, 0x9F, 0xBF],
            [0xE1, 0x80], [0xE1, 0x80, 0x7F], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF1, 0x80, 0x80], [0xF1, 0x80, 0x80, 0xC0], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xFE],
            [0xFF],
        ] as [[UInt8]]
    )
    func malformed(_ bytes: [UInt8]) {
        #expect(!isObject(Array("{\"a\":\"".utf8) + bytes + Array("\"}".utf8)))
        #expect(!isObject(Array("{\"a\":\"".utf8) + bytes))
        #expect(!isObject(bytes + Array("{}".utf8)))
    }

    @Test("takes 64 containers in each other and no more", arguments: [63, 64, 65, 66])
    func depth(_ depth: Int) {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[1,"#, "]"), (#"{"b":1,"a":"#, "}")] {
            let inner =
                String(repeating: open, count: depth - 1) + "1" + String(repeating: close, count: depth - 1)
            #expect(isObject(Array((#"{"a":"# + inner + "}").utf8)) == (depth <= 64), "\(open)")
        }
    }

    @Test("counts containers that are closed as gone")
    func depthAfterClosing() {
        let deep = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        let many = Array(repeating: deep, count: 40).joined(separator: ",")
        #expect(isObject(Array("{\"a\":[\(many)]}".utf8)))
    }

    private static let document =
        #"{"aps":{"alert":{"title":"Grüße\n","body":"\u00e9😀"},"badge":-1.5e3},"x":[true,false,null,{}]}"#

    @Test("refuses every truncation")
    func truncations() {
        let bytes = Array(Self.document.utf8)
        #expect(isObject(bytes))
        for count in bytes.indices {
            #expect(!isObject(Array(bytes[..<count])), "the first \(count) bytes")
        }
    }

    @Test("agrees with Foundation about mutated documents", arguments: [1, 2, 3, 4] as [UInt64])
    func mutations(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let original = Array(
            #"{"aps":{"alert":{"title":"a\n","body":"\u00e9"},"badge":-1.5e3},"x":[true,false,null,{}, 0 ]}"#
                .utf8)
        let alphabet = Array(#"{}[]",:\/ 0159eE+-.truefalsnu"#.utf8)
        var agreed = (valid: 0, invalid: 0)
        for _ in 0..<5000 {
            var bytes = original
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = alphabet[Int.random(in: alphabet.indices, using: &random)]
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(alphabet[Int.random(in: alphabet.indices, using: &random)], at: place)
                default: bytes.swapAt(place, Int.random(in: bytes.indices, using: &random))
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard !Self.isDisputed(text) else { continue }
            let known = (try? JSONSerialization.jsonObject(with: Data(bytes))) is [String: Any]
            #expect(isObject(bytes) == known, "\(text)")
            if known { agreed.valid += 1 } else { agreed.invalid += 1 }
        }
        #expect(agreed.valid > 500 && agreed.invalid > 500)
    }

    @Test("finds what may not stand in a string, and what ends it, at whatever place")
    func everyByteEverywhere() {
        for length in 1...20 {
            for place in 0..<length {
                for byte in 0...255 as ClosedRange<UInt8> {
                    var letters = (0..<length).map { UInt8(ascii: "a") + UInt8($0) }
                    letters[place] = byte
                    let isPlain = 0x20..<0x80 ~= byte && byte != UInt8(ascii: "\"")
                    // A backslash is followed by a letter of this alphabet or by the string's end.
                    let next = place + 1 < length ? letters[place + 1] : UInt8(ascii: "\"")
                    let isEscape = "bfnrt".utf8.contains(next)
                    let expected = byte == UInt8(ascii: "\\") ? isEscape : isPlain
                    let text = Array(#"{"a":""#.utf8) + letters + Array(#""}"#.utf8)
                    #expect(isObject(text) == expected, "\(byte) at \(place) of \(length)")
                }
            }
        }
    }

    /// Where Foundation differs: it refuses duplicate keys, lone surrogates and numbers beyond a Double, and it
    /// accepts a comma before a closing bracket.
    private static func isDisputed(_ text: String) -> Bool {
        let keys = text.split(separator: "\"").filter {
            ["aps", "alert", "title", "body", "badge", "x"].contains($0)
        }
        return Set(keys).count < keys.count || text.contains(#/\\u[dD]|[eE]\+?[0-9]{3}|[0-9]{17}|,\s*[\]}]/#)
    }
}
