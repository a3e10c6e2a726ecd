internal import CPostriderOpenSSL

/// HKDF (RFC 5869), and what TLS 1.3 makes of it (RFC 8446, 7.1), on one thread.
///
/// A context of each hash is kept. OpenSSL's own HKDF makes half a dozen of its objects for each of the nineteen
/// derivations of a handshake, and looks half of them up by their names.
@safe final class HKDF {
    /// What HMAC is made with.
    enum Hash: Int {
        case sha256
        case sha384

        /// Bytes of what it comes to.
        var bytes: Int { self == .sha256 ? 32 : 48 }
        /// Bytes that it takes in at a time.
        var blockBytes: Int { self == .sha256 ? 64 : 128 }
        /// OpenSSL's name of it.
        var name: String { self == .sha256 ? "SHA2-256" : "SHA2-384" }
    }

    /// What is hashed with one of them, ready for the first byte of the next.
    @safe private struct Hasher {
        let digest: OpaquePointer
        let context: OpaquePointer

        init(_ hash: Hash) {
            guard let digest = unsafe EVP_MD_fetch(nil, hash.name, nil), let context = unsafe EVP_MD_CTX_new()
            else { preconditionFailure("OpenSSL has SHA-2") }
            unsafe self.digest = digest
            unsafe self.context = context
            restart()
        }

        func free() {
            unsafe EVP_MD_CTX_free(context)
            unsafe EVP_MD_free(digest)
        }

        func add(_ bytes: UnsafeRawBufferPointer) {
            let status = unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            precondition(status == 1, "SHA-2 takes any bytes")
        }

        /// Begins anew, which overwrites what the context keeps of a secret.
        func finish(into output: UnsafeMutablePointer<UInt8>?) {
            let status = unsafe EVP_DigestFinal_ex(context, output, nil)
            precondition(status == 1, "SHA-2 comes to an end")
            restart()
        }

        private func restart() {
            let status = unsafe EVP_DigestInit_ex2(context, digest, nil)
            precondition(status == 1, "SHA-2 can begin")
        }
    }

    /// The largest of what hashes take in at a time, and come to.
    private typealias Block = InlineArray<128, UInt8>
    private typealias Output = InlineArray<48, UInt8>

    /// Of each hash one, made when it is used.
    private var hashers = InlineArray<2, Hasher?>(repeating: nil)

    deinit { for index in hashers.indices { hashers[index]?.free() } }

    /// HKDF-Extract (RFC 5869, 2.2). The salt is no longer than what the hash comes to; no salt counts as zeros.
    ///
    /// - Parameter output: as many bytes as the hash has.
    func extract(
        _ material: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, _ hash: Hash,
        into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(output.count == hash.bytes, "an extracted secret is as long as its hash")
        unsafe authenticate(material, key: salt, hash, into: output)
    }

    /// HKDF-Expand-Label (RFC 8446, 7.1), of no more bytes than the hash has: of such HKDF is one HMAC (RFC 5869, 2.3).
    ///
    /// - Parameters:
    ///   - label: without "tls13 "; at most 249 bytes.
    ///   - context: usually a hash; at most 255 bytes.
    func expand(
        _ secret: UnsafeRawBufferPointer, label: UnsafeRawBufferPointer, context: UnsafeRawBufferPointer,
        _ hash: Hash, into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(output.count <= hash.bytes, "no more is derived than one HMAC has")
        let prefix: StaticString = "tls13 "
        let labelBytes = prefix.utf8CodeUnitCount + label.count
        precondition(
            labelBytes <= 255 && context.count <= 255,
            "a label, and its context, have a byte for their length")
        unsafe withUnsafeTemporaryAllocation(byteCount: 5 + labelBytes + context.count, alignment: 1) {
            room in
            var end = 0
            func put(_ byte: Int) {
                unsafe room[end] = UInt8(byte)
                end += 1
            }
            func put(_ bytes: UnsafeRawBufferPointer) {
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[end...]).copyMemory(from: bytes)
                end += bytes.count
            }
            put(0)
            put(output.count)
            put(labelBytes)
            unsafe put(UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
            unsafe put(label)
            put(context.count)
            unsafe put(context)
            // The number of this HMAC (RFC 5869, 2.3).
            put(1)
            unsafe authenticate(UnsafeRawBufferPointer(room), key: secret, hash, into: output)
        }
    }

    /// The hash of no bytes.
    func hashOfNothing(_ hash: Hash, into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count == hash.bytes, "a hash has its length")
        unsafe hasher(hash).finish(into: output.bindMemory(to: UInt8.self).baseAddress)
    }

    /// The beginning of HMAC (RFC 2104).
    private func authenticate(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, _ hash: Hash,
        into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(key.count <= hash.bytes, "a key is not longer than what its hash comes to")
        let hasher = hasher(hash)
        var block = Block(repeating: 0)
        var inner = Output(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &block) { block in
            unsafe withUnsafeMutableBytes(of: &inner) { inner in
                let pad = unsafe UnsafeRawBufferPointer(rebasing: block.prefix(hash.blockBytes))
                let result = unsafe inner.bindMemory(to: UInt8.self).baseAddress
                unsafe block.copyMemory(from: key)
                for place in block.indices { unsafe block[place] ^= 0x36 }
                unsafe hasher.add(pad)
                unsafe hasher.add(message)
                unsafe hasher.finish(into: result)
                for place in block.indices { unsafe block[place] ^= 0x36 ^ 0x5c }
                unsafe hasher.add(pad)
                unsafe hasher.add(UnsafeRawBufferPointer(rebasing: inner.prefix(hash.bytes)))
                unsafe hasher.finish(into: result)
                unsafe output.copyMemory(from: UnsafeRawBufferPointer(rebasing: inner.prefix(output.count)))
                unsafe OPENSSL_cleanse(block.baseAddress, block.count)
                unsafe OPENSSL_cleanse(inner.baseAddress, inner.count)
            }
        }
    }

    private func hasher(_ hash: Hash) -> Hasher {
        if let hasher = hashers[hash.rawValue] { return hasher }
        let hasher = Hasher(hash)
        hashers[hash.rawValue] = hasher
        return hasher
    }
}
