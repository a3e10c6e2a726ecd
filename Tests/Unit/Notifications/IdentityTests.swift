import PostriderNotifications
import Testing

@Suite struct IdentityTests {
    @Test("hexadecimal text is read in either case and written in lower case")
    func hexadecimal() {
        #expect(Hexadecimal.bytes("") == [])
        #expect(Hexadecimal.bytes("00fFa9") == [0x00, 0xFF, 0xA9])
        #expect(Hexadecimal.text([0x00, 0xFF, 0xA9]) == "00ffa9")
        for text in ["0", "0g", "g0", "00 ", "é", "0x", "00/", ":0", "@0", "`0"] {
            #expect(Hexadecimal.bytes(text) == nil, "\(text)")
        }
        for value: UInt8 in 0..<16 { #expect(Hexadecimal.value(Hexadecimal.digit(value)) == value) }
        let digits = (0...255 as ClosedRange<UInt8>).filter { Hexadecimal.value($0) != nil }
        #expect(digits == Array("0123456789ABCDEFabcdef".utf8))
    }

    @Test("eight digits at a time are read as they are one by one, whatever byte stands where, and written")
    func eightDigits() {
        for place in 0..<8 {
            for byte in 0...255 as ClosedRange<UInt8> {
                var digits = Array("0aF9b3C7".utf8)
                digits[place] = byte
                let word = digits.reversed().reduce(0) { $0 << 8 | UInt64($1) }
                let expected = Hexadecimal.bytes(String(decoding: digits, as: UTF8.self))
                let known = expected?.reversed().reduce(0) { $0 << 8 | UInt32($1) }
                #expect(Hexadecimal.bytes(word) == known, "\(byte) at \(place)")
                guard let known else { continue }
                for letterA in [UInt8(ascii: "a"), UInt8(ascii: "A")] {
                    let written = Hexadecimal.digits(known, letterA: letterA)
                    let text = (0..<8).map { UInt8(truncatingIfNeeded: written >> UInt64(8 * $0)) }
                    let lower = text.map { $0 >= 0x41 && $0 <= 0x46 ? $0 + 0x20 : $0 }
                    #expect(Hexadecimal.bytes(written) == known)
                    #expect(String(decoding: lower, as: UTF8.self) == Hexadecimal.text(expected ?? []))
                    #expect(text.allSatisfy { $0 < 0x41 || letterA..<letterA + 6 ~= $0 })
                }
            }
        }
    }

    @Test("eight bytes are read as one word, the first of them lowest")
    func words() {
        let bytes: [UInt8] = Array(1...17)
        for start in 0...9 {
            let word = bytes.span.octet(at: start)
            let expected = (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
            #expect(word == expected, "\(start)")
        }
    }

    @Test("a device identity is 12 bytes, most significant first")
    func deviceIdentity() {
        let identity = DeviceIdentity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
        #expect(identity.bytes == Array(1...12))
        #expect(identity.description == "0102030405060708090a0b0c")
        #expect(DeviceIdentity(bytes: Array(1...12)) == identity)
        #expect(DeviceIdentity(hex: "0102030405060708090A0b0c") == identity)
        #expect(DeviceIdentity(bytes: []) == nil)
        #expect(DeviceIdentity(bytes: Array(1...11)) == nil)
        #expect(DeviceIdentity(bytes: Array(1...13)) == nil)
        for hex in ["", "0102030405060708090a0b", "0102030405060708090a0b0c0d", "0102030405060708090a0b0z"] {
            #expect(DeviceIdentity(hex: hex) == nil, "\(hex)")
        }
    }

    @Test("a device has one home, whatever the number of shards")
    func home() {
        for low: UInt32 in [0, 1, 7, 8, .max] {
            let identity = DeviceIdentity(high: 42, low: low)
            #expect(identity.home(among: 1) == 0)
            for shards in 1...9 { #expect(identity.home(among: shards) == Int(low) % shards) }
        }
    }

    @Test("registration numbers are ordered by value")
    func registrationNumbers() {
        #expect(RegistrationNumber(1) < RegistrationNumber(2))
        #expect(!(RegistrationNumber(2) < RegistrationNumber(2)))
        #expect(QueueRow(1) < QueueRow(2))
        #expect(!(QueueRow(2) < QueueRow(1)))
    }

    @Test("a device token is 32 bytes that its words hold in memory order")
    func deviceToken() throws {
        let bytes = [UInt8](0x80..<0xA0)
        let token = try #require(DeviceToken(bytes: bytes))
        #expect(token.words[0] == 0x8786_8584_8382_8180)
        #expect(token.words[3] == 0x9F9E_9D9C_9B9A_9998)
        #expect(token.bytes == bytes)
        #expect(token.hex == Hexadecimal.text(bytes))
        #expect(DeviceToken(hex: token.hex) == token)
        #expect(DeviceToken(hex: token.hex.uppercased()) == token)
        #expect(DeviceToken(words: token.words) == token)
        #expect(DeviceToken(bytes: Array(bytes.dropLast())) == nil)
        #expect(DeviceToken(bytes: bytes + [0]) == nil)
    }

    @Test("a device token that is not 64 hexadecimal digits is refused")
    func badTokens() {
        let digits = String(repeating: "ab", count: 32)
        #expect(DeviceToken(hex: digits) != nil)
        for text in ["", "ab", String(digits.dropLast()), digits + "a", digits + "ab"] {
            #expect(DeviceToken(hex: text) == nil)
        }
        for position in 0..<64 {
            var spoilt = Array(digits.utf8)
            spoilt[position] = UInt8(ascii: "g")
            #expect(DeviceToken(hex: spoilt.span) == nil, "position \(position)")
        }
    }

    @Test("a device token describes itself without giving itself away")
    func tokenDescription() throws {
        let token = try #require(DeviceToken(bytes: [UInt8](0x80..<0xA0)))
        #expect(token.description == "80818283…")
    }

    @Test("a topic holds letters, digits, dots, hyphens and underscores only")
    func topics() throws {
        let longest = String(repeating: "x", count: Limits.topicBytes)
        for text in ["a", "com.example.App-1_2", "com.example.app.voip", "A.Z.0.9", longest] {
            #expect(try #require(Topic(text)).text == text)
            #expect(Topic(text)?.description == text)
        }
        for text in ["", longest + "x", "a b", "a/b", "a\n", "ä", "a,b", "a:b", "\u{0}"] {
            #expect(Topic(text) == nil, "\(text)")
        }
    }
}

@Suite("A registration's number")
struct RegistrationNumberTests {
    @Test("tells its environment and its ordinal", arguments: Environment.allCases, [1, 2, UInt32.max >> 1])
    func environment(_ environment: Environment, _ ordinal: UInt32) {
        let number = RegistrationNumber(ordinal, in: environment)
        #expect(number.environment == environment)
        #expect(number.ordinal == ordinal)
    }

    @Test("of production is its ordinal, so that tokens from before there were environments stay good")
    func production() {
        #expect(RegistrationNumber(7, in: .production) == RegistrationNumber(7))
    }
}
