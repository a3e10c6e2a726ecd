internal import COpenSSL
internal import Glibc

/// One asymmetric key, private or public: the owner of an `EVP_PKEY`.
///
/// An `EVP_PKEY` is never changed after it was made, its reference count is atomic and its internal caches
/// are locked by OpenSSL, so one key may sign and verify on many threads.
@safe final class Key: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// A new private key on P-256.
    static func generate() -> Key {
        guard let pointer = unsafe COpenSSL_generate_P256() else {
            preconditionFailure("OpenSSL cannot make a P-256 key: \(ErrorQueue.takeReason())")
        }
        return unsafe Key(owning: pointer)
    }

    /// A private key from PEM, PKCS#8 or SEC 1. `name` is what an error calls it.
    static func privateKey(pem: String, name: String) throws(CryptoError) -> Key {
        let text = MemoryBIO(pem)
        return try unsafe privateKey(reading: text.pointer, name: name)
    }

    /// A public key from PEM, SubjectPublicKeyInfo. `name` is what an error calls it.
    static func publicKey(pem: String, name: String) throws(CryptoError) -> Key {
        let text = MemoryBIO(pem)
        ErrorQueue.clear()
        guard let pointer = unsafe PEM_read_bio_PUBKEY(text.pointer, nil, nil, nil) else {
            throw .local("\(name) holds no public key in PEM (BEGIN PUBLIC KEY)")
        }
        return unsafe Key(owning: pointer)
    }

    /// A private key from a file that nobody but its owner can read.
    ///
    /// The file is opened once and judged by its descriptor, so it cannot be exchanged between look and use.
    static func privateKey(file path: String) throws(CryptoError) -> Key {
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw CryptoError(.local, "The private key \(path) is a symbolic link; name the file itself")
            }
            throw .system(
                .local, "The private key \(path) cannot be opened", errno,
                remedy: "name a file that is there and that this user may read")
        }
        guard let file = unsafe BIO_new_fd(descriptor, BIO_CLOSE) else {
            preconditionFailure("out of memory")
        }
        defer { unsafe BIO_free(file) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CryptoError(.local, "The private key \(path) is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CryptoError(
                .local, "The private key \(path) is open to others than its owner; run chmod 600 on it")
        }
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
