import FoundationEssentials
import PostriderCrypto
import PostriderJSON
import PostriderNotifications

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// Provider tokens, from the `authorization` header down to JSON, base64 and signatures.
///
/// The first byte tells what the rest is: `a`, the whole header; `s`, two lines with the parts of a token, which get
/// a valid signature; `d`, a DER signature of a known message; `b`, a signature as base64 text, in an otherwise valid
/// token.
enum ProviderTokenTexts {
    private static let message = Array("what is signed".utf8)

    static func run(_ input: [UInt8]) throws(Contradiction) {
        let rest = Array(input.dropFirst())
        switch input.first {
        case UInt8(ascii: "a"): _ = try verdict(rest)
        case UInt8(ascii: "s"): try parts(rest)
        case UInt8(ascii: "d"): try signature(rest)
        case UInt8(ascii: "b"):
            guard let end = FuzzedProvider.token.lastIndex(of: UInt8(ascii: ".")) else { return }
            _ = try verdict(Array("bearer ".utf8) + FuzzedProvider.token[...end] + rest)
        default: break
        }
    }

    /// Returns the relay's decision on this header. It must be the same when the relay has the token in its cache.
    private static func verdict(_ authorization: [UInt8]) throws(Contradiction) -> Rejection? {
        let tokens = ProviderTokens()
        var credentials = ProviderCredentials()
        let first = ask(authorization, &credentials, tokens)
        let second = ask(authorization, &credentials, tokens)
        try hold(first == second, "the same header gets \(first, default: "in") and \(second, default: "in")")
        var others = ProviderCredentials()
        let third = ask(authorization, &others, tokens)
        try hold(first == third, "another connection gets \(third, default: "in")")
        return first
    }

    private static func ask(
        _ authorization: [UInt8], _ credentials: inout ProviderCredentials, _ tokens: ProviderTokens
    ) -> Rejection? {
        do throws(Rejection) {
            _ = try credentials.authenticate(
                authorization.indices, in: authorization.span, of: .production, tokens,
                FuzzedProvider.authority, now: FuzzedProvider.now)
            return nil
        } catch {
            return error
        }
    }

    /// Checks the header and claims of a token that the team's key has signed.
    private static func parts(_ input: [UInt8]) throws(Contradiction) {
        let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
        let (header, claims) = (Array(input[..<end]), Array(input[end...].dropFirst()))
        let token = FuzzedProvider.sign(header: header, claims: claims)
        guard try verdict(Array("bearer ".utf8) + token) == nil else { return }
        try hold(text("kid", in: header) == FuzzedProvider.keyIdentifier, "the key is another one")
        try hold(text("iss", in: claims) == FuzzedProvider.team, "the team is another one")
        // The token is also valid with a signature in DER, which is sometimes shorter than 64 bytes.
        try hold(token.count <= Limits.providerTokenBytes, "the token is too long")
    }

    /// Returns the text of a member of an object.
    private static func text(_ name: String, in object: [UInt8]) -> String? {
        JSONValue.members(ofObject: object.span)?[name]?.string
    }

    private static func signature(_ bytes: [UInt8]) throws(Contradiction) {
        let key = FuzzedProvider.key.publicKey
        guard key.isValidSignature(bytes.span, for: message.span) else { return }
        let other = message + [0]
        try hold(!key.isValidSignature(bytes.span, for: other.span), "a signature is good for two messages")
        let longer = bytes + [0]
        try hold(!key.isValidSignature(longer.span, for: message.span), "a signature may have a tail")
    }
}
