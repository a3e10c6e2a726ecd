import Foundation
import PostriderCrypto

@testable import PostriderWebPush

/// The origin of the addresses in these tests.
let origin = "https://push.example.org"

/// 2026-01-01T00:00:00Z, in seconds: the time of these tests.
let present: Int64 = 1_767_225_600

/// An application server with its VAPID key.
struct VAPIDSigner {
    let key = ES256.PrivateKey.generate()

    /// The public key as an uncompressed point: the end of the SubjectPublicKeyInfo.
    var point: [UInt8] {
        let lines = key.publicKey.pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return Array((Data(base64Encoded: lines.joined()) ?? Data()).suffix(VAPIDKey.byteCount))
    }

    var publicKey: VAPIDKey {
        guard let key = VAPIDKey(bytes: point) else {
            preconditionFailure("OpenSSL made a point on the curve")
        }
        return key
    }

    /// A token with these parts, signed.
    func token(header: String = #"{"typ":"JWT","alg":"ES256"}"#, claims: String) -> String {
        let text = [header, claims].map { Base64URL.text(Array($0.utf8)) }.joined(separator: ".")
        return text + "." + Base64URL.text(key.signature(for: Array(text.utf8).span))
    }

    /// A token that is valid for so many seconds from the present on.
    func token(for audience: String = origin, seconds: Int64 = 3600) -> String {
        token(claims: #"{"aud":"\#(audience)","exp":\#(present + seconds),"sub":"mailto:a@example.org"}"#)
    }

    /// The value of `Authorization` for a token.
    func authorization(_ token: String) -> String { "vapid t=\(token), k=\(publicKey.text)" }
}
