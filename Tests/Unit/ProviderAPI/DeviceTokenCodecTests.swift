import PostriderCrypto
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI

@Suite("Device tokens")
struct DeviceTokenCodecTests {
    private let secrets = (1...3).map {
        [UInt8](repeating: UInt8($0), count: DeviceTokenCodec.secretByteCount)
    }

    @Test(
        "come back open",
        arguments: [(0, 0, 1), (.max, .max, .max), (0x0102_0304_0506_0708, 0x090A_0B0C, 7)]
            as [(UInt64, UInt32, UInt32)]
    )
    func roundTrip(_ high: UInt64, _ low: UInt32, _ number: UInt32) throws {
        let seal = try DeviceTokenCodec(secrets: [secrets[0]])
        let device = DeviceIdentity(high: high, low: low)
        let token = seal.seal(device, RegistrationNumber(number))
        let opened = try #require(seal.open(token))
        #expect(opened.device == device && opened.registration == RegistrationNumber(number))
        #expect(DeviceToken(hex: token.hex) == token)
    }

    @Test("of messages and of receipt subscriptions are none of registrations, and the other way round")
    func messages() throws {
        let seal = try DeviceTokenCodec(secrets: [secrets[0]])
        for row in [1, 77, Int64.max] {
            let token = seal.seal(QueueRow(row))
            #expect(seal.openRow(token) == QueueRow(row))
            #expect(seal.open(token)?.registration == RegistrationNumber(0))
        }
        #expect(seal.openRow(seal.seal(Samples.device, Samples.first)) == nil)
        #expect(seal.openRow(DeviceToken(words: .zero)) == nil)
        let receipts = seal.seal(ReceiptSubscription(Samples.device))
        #expect(seal.openReceipts(receipts) == ReceiptSubscription(Samples.device))
        #expect(seal.openRow(receipts) == nil && seal.openReceipts(seal.seal(QueueRow(1))) == nil)
        #expect(seal.openReceipts(seal.seal(Samples.device, Samples.first)) == nil)
    }

    @Test("of one device have nothing in common that could be seen")
    func unlinkable() throws {
        let seal = try DeviceTokenCodec(secrets: [secrets[0]])
        let tokens = (1...50).map { seal.seal(Samples.device, RegistrationNumber($0)) }
        #expect(Set(tokens).count == 50)
        #expect(Set(tokens.map { $0.bytes[..<4] }).count == 50)
        #expect(Set(tokens.map { $0.bytes[28...] }).count == 50)
    }

    @Test("are refused when any bit of them is another")
    func forged() throws {
        let seal = try DeviceTokenCodec(secrets: [secrets[0]])
        let token = seal.seal(Samples.device, Samples.first)
        for bit in 0..<256 {
            var words = token.words
            words[bit / 64] ^= 1 << UInt64(bit % 64)
            let opened = seal.open(DeviceToken(words: words))?.device
            #expect(opened == nil, "bit \(bit)")
        }
        let zero = seal.open(DeviceToken(words: .zero))?.device
        #expect(zero == nil)
        let stranger = try DeviceTokenCodec(secrets: [secrets[1]]).open(token)?.device
        #expect(stranger == nil)
    }

    @Test("open with every secret and are sealed with the newest")
    func rotation() throws {
        let old = try DeviceTokenCodec(secrets: [secrets[0]])
        let both = try DeviceTokenCodec(secrets: [secrets[0], secrets[1]])
        let new = try DeviceTokenCodec(secrets: [secrets[1]])
        let oldToken = old.seal(Samples.device, Samples.first)
        let newToken = both.seal(Samples.device, Samples.first)
        #expect(oldToken != newToken)
        #expect(new.seal(Samples.device, Samples.first) == newToken)
        for token in [oldToken, newToken] {
            let opened = both.open(token)
            #expect(opened?.device == Samples.device)
        }
        let strangers = [old.open(newToken)?.device, new.open(oldToken)?.device]
        #expect(strangers == [nil, nil])
    }

    @Test("need secrets of the length of their cipher", arguments: [0, 63, 65])
    func secretLength(_ count: Int) {
        #expect(throws: CryptoError.self) {
            try DeviceTokenCodec(secrets: [[UInt8](repeating: 1, count: count)])
        }
    }
}
