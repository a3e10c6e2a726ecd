import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderCrypto
import PostriderEvidence
import PostriderFileTrust
import PostriderNotifications

extension EvidenceSigner {
    /// Reads the relay's key for evidence from a file of its data directory that only its owner can read, and makes the
    /// file if it is missing. If that fails, the relay serves without evidence, and logs why.
    func load(from directory: String, log: Log) {
        let path = directory + "/evidence.key"
        do throws(Unavailable) {
            if let key = try Self.key(in: path) {
                use(.success(key))
            } else {
                use(.success(try Self.makeKey(in: path)))
            }
        } catch {
            log.error("no evidence can be signed: \(error)")
            use(.failure(error))
        }
    }

    /// The most bytes that the file may have.
    private static let mostBytes = 16_384

    /// The key in a file; nil if there is no file.
    private static func key(in path: String) throws(Unavailable) -> ES256.PrivateKey? {
        let bytes: [UInt8]
        do throws(FileAccessError) {
            bytes = try FileAccessRule.secret().open(path).read(atMost: mostBytes)
        } catch {
            guard error.isMissing else { throw Unavailable("The key \(path) \(error.explanation).") }
            return nil
        }
        do throws(CryptoError) {
            return try ES256.PrivateKey(pem: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Unavailable(
                "The key \(path) cannot be used: \(error); put the right file there, or remove it to have a "
                    + "new key made at the next start.")
        }
    }

    private static func makeKey(in path: String) throws(Unavailable) -> ES256.PrivateKey {
        let key = ES256.PrivateKey.generate()
        do throws(CommandFailure) {
            try FileText.write(key.pem, to: path)
        } catch {
            throw Unavailable(error.sentence)
        }
        // What is signed must be checked for years: the key must not be lost with the power.
        if let file = try? FileAccessRule.secret().open(path) { fsync(file.descriptor) }
        return key
    }
}
