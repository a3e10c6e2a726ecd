internal import CPostriderCrypto
internal import Glibc
internal import PostriderFileTrust

/// An asymmetric key, private or public: the owner of an `EVP_PKEY`.
///
/// An `EVP_PKEY` is not changed after it was made, its reference count is atomic, and OpenSSL locks its internal
/// caches, so one key may be used on many threads.
@safe package final class Key: Sendable {
    /// The `EVP_PKEY`, which this object owns.
    nonisolated(unsafe) package let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Generates a new private key.
    static func generate(_ kind: Certificates.KeyKind = .p256) -> Key {
        let made =
            switch kind {
            case .p256: unsafe CCrypto_generate_P256()
            case .rsa2048: unsafe CCrypto_generate_RSA(2048)
            }
        guard let pointer = unsafe made else {
            preconditionFailure("OpenSSL cannot make a key: \(ErrorQueue.takeReason())")
        }
        return unsafe Key(owning: pointer)
    }

    /// Reads a private key from PEM, PKCS#8 or SEC 1. Errors call it `name`.
    static func privateKey(pem: String, name: String) throws(CryptoError) -> Key {
        let text = MemoryBIO(pem)
        return try unsafe privateKey(reading: text.pointer, name: name)
    }

    /// Reads a public key from PEM, SubjectPublicKeyInfo. Errors call it `name`.
    static func publicKey(pem: String, name: String) throws(CryptoError) -> Key {
        let text = MemoryBIO(pem)
        ErrorQueue.clear()
        guard let pointer = unsafe PEM_read_bio_PUBKEY(text.pointer, nil, nil, nil) else {
            throw .local("\(name) holds no public key in PEM (BEGIN PUBLIC KEY)")
        }
        return unsafe Key(owning: pointer)
    }

    /// Reads a public key from SubjectPublicKeyInfo in DER. Errors call it `name`.
    static func publicKey(der: [UInt8], name: String) throws(CryptoError) -> Key {
        ErrorQueue.clear()
        let made = unsafe der.withUnsafeBufferPointer {
            var start = $0.baseAddress
            return unsafe d2i_PUBKEY(nil, &start, $0.count)
        }
        guard let pointer = unsafe made else { throw .local("\(name) is no public key") }
        return unsafe Key(owning: pointer)
    }

    /// Reads a private key from a file that other users cannot read.
    ///
    /// - Parameters:
    ///   - path: the file; symbolic links are followed (``FileTrust/FileAccessRule``).
    ///   - groups: groups whose members may read the file, in addition to root's.
    package static func privateKey(
        file path: String, readableBy groups: Set<UInt32> = []
    ) throws(CryptoError) -> Key {
        let descriptor: Int32
        do throws(FileAccessError) {
            descriptor = try FileAccessRule.secret(readableBy: groups).open(path).release()
        } catch {
            throw CryptoError(.local, "The private key \(path) \(error.explanation)")
        }
        guard let file = unsafe BIO_new_fd(descriptor, BIO_CLOSE) else {
            preconditionFailure("out of memory")
        }
        defer { unsafe BIO_free(file) }
        return try unsafe privateKey(reading: file, name: "The private key \(path)")
    }

    /// The private key as PKCS#8 PEM, not encrypted.
    var privatePEM: String {
        let text = MemoryBIO()
        let status = unsafe PEM_write_bio_PKCS8PrivateKey(text.pointer, pointer, nil, nil, 0, nil, nil)
        precondition(status == 1, "a private key can be written")
        return text.takeText()
    }

    /// The public half as SubjectPublicKeyInfo PEM.
    var publicPEM: String {
        let text = MemoryBIO()
        let status = unsafe PEM_write_bio_PUBKEY(text.pointer, pointer)
        precondition(status == 1, "a public key can be written")
        return text.takeText()
    }

    /// The public half as SubjectPublicKeyInfo in DER.
    var publicDER: [UInt8] {
        let count = unsafe i2d_PUBKEY(pointer, nil)
        precondition(count > 0, "a public key can be written")
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = unsafe bytes.withUnsafeMutableBufferPointer {
            var end = $0.baseAddress
            return unsafe i2d_PUBKEY(pointer, &end)
        }
        precondition(written == count, "a public key has one length")
        return bytes
    }

    /// Whether this is a key on the curve P-256.
    var isOnP256: Bool {
        var name = [CChar](repeating: 0, count: 32)
        var count = 0
        guard unsafe EVP_PKEY_is_a(pointer, "EC") == 1,
            unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1
        else { return false }
        return name[..<count].elementsEqual("prime256v1".utf8.lazy.map(CChar.init))
    }

    private static func privateKey(reading file: OpaquePointer, name: String) throws(CryptoError) -> Key {
        ErrorQueue.clear()
        // Without a callback OpenSSL would ask for a passphrase at the terminal.
        guard let pointer = unsafe PEM_read_bio_PrivateKey(file, nil, { _, _, _, _ in -1 }, nil) else {
            throw .local("\(name) holds no private key in PEM without a passphrase")
        }
        return unsafe Key(owning: pointer)
    }
}
