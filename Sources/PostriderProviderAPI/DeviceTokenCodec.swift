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
        plain(token).map { plain in
            (
                DeviceIdentity(high: plain[0], low: UInt32(truncatingIfNeeded: plain[1] >> 32)),
                RegistrationNumber(UInt32(truncatingIfNeeded: plain[1]))
            )
        }
    }

    /// The token of a message in a device's queue. It has the registration number 0, which no registration has.
    package func seal(_ row: QueueRow) -> DeviceToken {
        DeviceToken(words: ciphers[0].seal(SIMD2(UInt64(bitPattern: row.value), 0)))
    }

    /// The row of a message's token; nil if the token is none of a message, or not one of ours.
    package func openRow(_ token: DeviceToken) -> QueueRow? {
        guard let plain = plain(token), plain[1] == 0 else { return nil }
        return QueueRow(Int64(bitPattern: plain[0]))
    }

    /// The token of a receipt subscription. Its registration number is the first of the development environment, which
    /// no registration has either.
    package func seal(_ subscription: ReceiptSubscription) -> DeviceToken {
        seal(subscription.identity, Self.receiptsNumber)
    }

    /// The receipt subscription of a token; nil if the token is none of one, or not one of ours.
    package func openReceipts(_ token: DeviceToken) -> ReceiptSubscription? {
        guard let (identity, number) = open(token), number == Self.receiptsNumber else { return nil }
        return ReceiptSubscription(identity)
    }

    private static let receiptsNumber = RegistrationNumber(0, in: .development)

    private func plain(_ token: DeviceToken) -> SIMD2<UInt64>? {
        for cipher in ciphers {
            if let plain = cipher.open(token.words) { return plain }
        }
        return nil
    }
}
