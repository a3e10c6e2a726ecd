import PostriderNotifications
import Testing

@Suite struct NotificationIdentityTests {
    private let identity = NotificationIdentity(high: 0x1234_5678_9ABC_DEF0, low: 0x0FED_CBA9_8765_4321)
    private let text = "12345678-9ABC-DEF0-0FED-CBA987654321"

    @Test("the canonical text is read in either case and written in upper case")
    func canonicalText() {
        #expect(NotificationIdentity(text) == identity)
        #expect(NotificationIdentity(text.lowercased()) == identity)
        #expect(identity.description == text)
        #expect(identity.upperCaseText == Array(text.utf8))
        #expect(NotificationIdentity.textByteCount == text.utf8.count)
        for (high, low) in [(0, 0), (.max, .max), (1, 0), (0, 1)] as [(UInt64, UInt64)] {
            let identity = NotificationIdentity(high: high, low: low)
            #expect(NotificationIdentity(identity.description) == identity)
        }
    }

    @Test(
        "any other text is refused",
        arguments: [
            "", "12345678-9ABC-DEF0-0FED-CBA98765432", "12345678-9ABC-DEF0-0FED-CBA9876543210",
            "123456789ABCDEF00FEDCBA987654321", "{12345678-9ABC-DEF0-0FED-CBA98765432}",
            "12345678_9ABC-DEF0-0FED-CBA987654321", "1234567-89ABC-DEF0-0FED-CBA987654321",
            "12345678-9ABC-DEF0-0FED-CBA98765432G", "12345678-9ABC-DEF0-0FED-CBA98765432 ",
            "12345678-9ABC-DEF0-0FED-CBA9876543é", "------------------------------------",
        ]
    )
    func otherText(_ text: String) {
        #expect(NotificationIdentity(text) == nil)
    }

    @Test("16 bytes are an identity, most significant first")
    func bytes() {
        let bytes: [UInt8] = [
            0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0, 0x0F, 0xED, 0xCB, 0xA9, 0x87, 0x65, 0x43, 0x21,
        ]
        #expect(identity.bytes == bytes)
        #expect(NotificationIdentity(bytes: bytes) == identity)
        #expect(NotificationIdentity(bytes: Array(bytes.dropLast())) == nil)
        #expect(NotificationIdentity(bytes: bytes + [0]) == nil)
        #expect(NotificationIdentity(bytes: []) == nil)
    }

    @Test("random bits become a version 4 UUID and keep the other 122")
    func versionFour() {
        #expect(NotificationIdentity(random: 0, 0).description == "00000000-0000-4000-8000-000000000000")
        #expect(
            NotificationIdentity(random: .max, .max).description == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
        let odd = NotificationIdentity(random: identity.high, identity.low)
        #expect(odd.description == "12345678-9ABC-4EF0-8FED-CBA987654321")
    }
}
