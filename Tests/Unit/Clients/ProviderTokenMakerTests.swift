import Foundation
import PostriderClients
import PostriderCrypto
import PostriderNotifications
import Testing

@Suite("A provider token")
struct ProviderTokenMakerTests {
    let key = ES256.PrivateKey.generate()

    private func bytes(_ part: Substring) -> [UInt8] {
        let text = part.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: text + padding).map(Array.init) ?? []
    }

    @Test("names its key, its team and its moment, and is signed")
    func content() {
        let maker = ProviderTokenMaker(key: key, keyIdentifier: "K\"1", team: "TEAM1")
        let token = maker.makeToken(issuedAt: Moment(milliseconds: 1_700_000_000_999))
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3)
        #expect(
            String(decoding: bytes(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"K\"1","typ":"JWT"}"#)
        #expect(String(decoding: bytes(parts[1]), as: UTF8.self) == #"{"iat":1700000000,"iss":"TEAM1"}"#)
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        let signature = bytes(parts[2])
        let isValid = key.publicKey.isValidSignature(signature.span, for: message.span)
        #expect(isValid)
        #expect(!token.contains { "+/=".contains($0) })
    }

    @Test("is used for fifty minutes, whatever the clock does")
    func renewal() {
        var maker = ProviderTokenMaker(key: key, keyIdentifier: "KEY1", team: "TEAM1")
        let start = Moment(milliseconds: 1_700_000_000_000)
        let first = maker.token(at: start)
        #expect(maker.token(at: start.advanced(byMilliseconds: 50 * 60_000 - 1)) == first)
        let second = maker.token(at: start.advanced(byMilliseconds: 50 * 60_000))
        #expect(second != first)
        #expect(maker.token(at: start.advanced(byMilliseconds: -60 * 60_000)) != second)
    }
}
