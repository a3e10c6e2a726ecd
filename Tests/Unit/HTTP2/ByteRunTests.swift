import PostriderHTTP2
import Testing

@Suite("A run of bytes")
struct ByteRunTests {
    @Test("holds what was appended, each where it was said to lie, and keeps its memory when it is emptied")
    func appends() {
        var run = ByteRun()
        for round in 0..<3 {
            var expected: [UInt8] = []
            for length in [0, 1, 200, 0, 100, 4096, 7] {
                let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 + round) }
                let range = run.append(bytes.span)
                expected += bytes
                #expect(Array(run.room[range]) == bytes)
            }
            #expect(run.count == expected.count && Array(run.room.prefix(run.count)) == expected)
            let room = run.room.count
            run.removeAll()
            #expect(run.count == 0 && run.room.count == room)
        }
    }

    @Test("matches a text that is known, and no other of its length or of another")
    func matching() {
        for (text, expected) in [("apns-id", true), ("apns-ie", false), ("apns-i", false), ("", false)] {
            let bytes = Array(text.utf8)
            let isMatch = bytes.span.matches("apns-id")
            #expect(isMatch == expected, "\(text)")
        }
    }
}
