internal import CPostriderOpenSSL
internal import Glibc

/// The key schedule of TLS 1.3 (RFC 8446, 7.1) in the handshakes of one thread, as OpenSSL asks for it.
///
/// OpenSSL fetches the function that it derives its keys with, TLS13-KDF (EVP_KDF-TLS13_KDF(7)), from whoever provides
/// it, and each ``TLSContext`` prefers ours (``KeyScheduleProvider``). Its own takes several times as long, and the two
/// secrets that our records need could be had in one other way only: from the log of SSL_CTX_set_keylog_callback(3),
/// for whose lines it calls `sprintf` for each byte.
@safe final class KeySchedule {
    let hkdf = HKDF()
    /// Of the handshake under way: who hears what it comes to.
    private var secrets: TrafficSecrets?

    /// The schedule of the handshake that this thread is in.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key, nil)
        precondition(status == 0, "there are a thousand keys for what is a thread's own")
        return key
    }()

    /// Has OpenSSL use this schedule, and tell somebody its secrets, for as long as `body` lasts.
    func lead<Result>(_ secrets: TrafficSecrets?, _ body: () -> Result) -> Result {
        self.secrets = secrets
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer {
            pthread_setspecific(Self.key, nil)
            self.secrets = nil
        }
        return body()
    }

    /// That of this thread's handshake, or one for a key that is changed outside of any.
    static var current: KeySchedule {
        guard let schedule = unsafe pthread_getspecific(key) else { return KeySchedule() }
        return unsafe Unmanaged<KeySchedule>.fromOpaque(schedule).takeUnretainedValue()
    }

    /// Derives what OpenSSL asks for. False: it asks for something that is not of TLS 1.3.
    func derive(_ order: KeyOrder, into output: UnsafeMutableRawBufferPointer) -> Bool {
        guard let hash = order.hash, order.hasPrefix else { return false }
        switch order.mode {
        case EVP_KDF_HKDF_MODE_EXPAND_ONLY:
            guard
                unsafe order.key.count == hash.bytes && order.label.count <= 249
                    && order.data.count <= hash.bytes && output.count <= hash.bytes
            else { return false }
            unsafe hkdf.expand(order.key, label: order.label, context: order.data, hash, into: output)
            unsafe secrets?.note(order.label, UnsafeRawBufferPointer(output))
        case EVP_KDF_HKDF_MODE_EXTRACT_ONLY:
            guard
                unsafe output.count == hash.bytes && order.label.count <= 249
                    && (order.salt.isEmpty || order.salt.count == hash.bytes)
            else { return false }
            unsafe extract(order, hash, into: output)
        default:
            return false
        }
        return true
    }

    /// The next secret from the last one, where there is one, and from new material, or as many zeros.
    private func extract(_ order: KeyOrder, _ hash: HKDF.Hash, into output: UnsafeMutableRawBufferPointer) {
        let zeros = TrafficKey.Secret(repeating: 0)
        var salt = TrafficKey.Secret(repeating: 0)
        unsafe withUnsafeBytes(of: zeros) { zeros in
            unsafe withUnsafeMutableBytes(of: &salt) { room in
                let salt = unsafe UnsafeMutableRawBufferPointer(rebasing: room.prefix(hash.bytes))
                if unsafe !order.salt.isEmpty {
                    // Derive-Secret(last, "derived", ""), over the hash of no message, which is overwritten by it.
                    unsafe hkdf.hashOfNothing(hash, into: salt)
                    unsafe hkdf.expand(
                        order.salt, label: order.label, context: UnsafeRawBufferPointer(salt), hash,
                        into: salt)
                }
                let material =
                    unsafe order.key.isEmpty
                    ? UnsafeRawBufferPointer(rebasing: zeros.prefix(hash.bytes)) : order.key
                unsafe hkdf.extract(material, salt: UnsafeRawBufferPointer(salt), hash, into: output)
                unsafe OPENSSL_cleanse(room.baseAddress, room.count)
            }
        }
    }
}
