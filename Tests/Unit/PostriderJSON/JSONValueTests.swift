import PostriderJSON
import PostriderSeededRandom
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test(
        "are read from exactly what the syntax accepts", .bug(id: "R5"), arguments: [1, 2, 3, 4] as [UInt64])
    func agreement(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let original = Array(
            #"{"aps":{"a":{"t":"a\n\ud83d\ude00","b":"\u00e9"},"n":-1.5e3},"x":[true,null,{}, 0 ],"é":9}"#
                .utf8)
        let alphabet = Array(#"{}[]",:\/ 0159eE+-.truefalsnudD8"#.utf8) + [0xC3, 0xA9, 0xED, 0x1F]
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
            let members = JSONValue.members(ofObject: bytes.span)
            #expect((members != nil) == JSONSyntax.isObject(bytes.span), "\(bytes)")
            guard let members else {
                agreed.invalid += 1
                continue
            }
            agreed.valid += 1
            let written = JSONValue.object(members).bytes ?? []
            #expect(JSONValue.members(ofObject: written.span) == members)
        }
        #expect(agreed.valid > 100 && agreed.invalid > 500)
    }

    @Test("have no JSON where a number is infinite or not a number")
    func numbers() {
        for value in [Double.infinity, -.infinity, .nan] {
            #expect(JSONValue.array([.object(["a": .double(value)])]).bytes == nil)
        }
        #expect(JSONValue.double(2).bytes == Array("2.0".utf8))
    }

    @Test("give a whole number however it was written, and nothing for others")
    func wholeNumbers() {
        let members = JSONValue.members(
            ofObject: Array(
                #"{"a":3,"b":3.0,"c":3e0,"d":3.5,"e":"3","f":18446744073709551615,"g":1e40}"#.utf8
            )
            .span)
        #expect(["a", "b", "c"].map { members?[$0]?.wholeNumber } == [3, 3, 3])
        #expect(["d", "e", "f", "g"].allSatisfy { members?[$0]?.wholeNumber == nil })
    }
}
