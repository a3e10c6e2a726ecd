public import PostriderCrypto
import PostriderNotifications

/// The key with which devices enrol: 32 random bytes as text that can be pasted into a shell. The relay stores only its
/// SHA-256; the key is random, so no slow hash is needed.
public enum EnrolmentKey {
    /// A new key.
    public static func draw(_ entropy: Entropy) -> String { draw(entropy as any RandomSource) }

    /// What every key begins with.
    static let beginning = "enrol-"

    static func draw(_ random: any RandomSource) -> String { beginning + Hexadecimal.text(random.bytes(32)) }

    /// The digest that the registry stores.
    public static func digest(_ key: String) -> [UInt8] {
        let bytes = Array(key.utf8)
        return SHA256.digest(bytes.span).bytes
    }
}
