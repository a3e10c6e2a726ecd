package import PostriderCrypto
package import PostriderNotifications

/// Makes and opens device tokens: `AES-SIV(secret, device identity 12 bytes ‖ registration number 4 bytes)`.
///
/// A forged token is refused, and the home of a genuine one is found, without a look-up. There may be several secrets:
/// the newest seals and all of them open, so that a secret can be rotated without invalidating tokens. One codec per
/// shard, because the cipher contexts are confined to a thread.
package final class DeviceTokenCodec {
    private let ciphers: [SyntheticIV]

    /// The number of bytes in a secret: two AES-256 keys.
    package static let secretByteCount = 64

    /// A codec with these secrets, the newest last.
    package init(secrets: [[UInt8]]) throws(CryptoError) {
        precondition(!secrets.isEmpty, "the relay draws a secret before its first start ends")
        var ciphers: [SyntheticIV] = []
        for secret in secrets.reversed() { ciphers.append(try SyntheticIV(key: secret)) }
        self.ciphers = ciphers
    }

    /// The token of a registration.
    package func seal(_ device: DeviceIdentity, _ registration: RegistrationNumber) -> DeviceToken {
        let plain = SIMD2(device.high, UInt64(device.low) << 32 | UInt64(registration.value))
        return DeviceToken(words: ciphers[0].seal(plain))
    }

    /// The registration of a token; nil if the token is not one of ours.
    package func open(_ token: DeviceToken) -> (device: DeviceIdentity, registration: RegistrationNumber)? {
        for cipher in ciphers {
            guard let plain = cipher.open(token.words) else { continue }
            return (
                DeviceIdentity(high: plain[0], low: UInt32(truncatingIfNeeded: plain[1] >> 32)),
                RegistrationNumber(UInt32(truncatingIfNeeded: plain[1]))
            )
        }
        return nil
    }
}
