internal import CPostriderSSL
internal import PostriderCrypto

/// What all TLS streams of one thread share: OpenSSL's contexts of the AEAD ciphers, and a buffer for a record.
///
/// A context gets its key anew for each record, which takes a third of a microsecond. If each stream had its own
/// contexts for both directions, they would take two kilobytes that are in no cache when a record arrives; a key is
/// 16 bytes.
///
/// So a context holds the key of its last record, which its stream holds, too. When that stream ends, its key must be
/// erased here as well: see ``forgetKeys()``.
@safe public final class AEADContexts {
    /// A record of full length, and a KeyUpdate record before it.
    private static let roomBytes = RecordLayer.mostBytes + 64

    /// For each suite a context that decrypts, then one that encrypts.
    private var contexts = unsafe InlineArray<6, OpaquePointer?>(repeating: nil)
    /// Returns OpenSSL's name of a suite's cipher.
    private let cipherName: (RecordSuite) -> String
    let derivation = KeyDerivation()
    /// Whether a context may hold a key that no stream has any more.
    private var holdsOldKey = false
    /// The buffer in which records are sealed before they are sent. Its content is valid during one call.
    let room: UnsafeMutableBufferPointer<UInt8>

    private enum Direction: CInt {
        case opening = 0
        case sealing = 1
    }

    /// A record, and the context with its key.
    @safe private struct Work {
        let context: OpaquePointer
        let head: UnsafeMutablePointer<UInt8>
        let content: UnsafeMutablePointer<UInt8>
        let count: Int
        /// The tag, after the content.
        var tag: UnsafeMutablePointer<UInt8> { unsafe content + count }
    }

    /// Allocates the buffer. The contexts are made on first use.
    public convenience init() { self.init(cipherName: \.cipherName) }

    /// - Parameter cipherName: returns the cipher of a suite. Tests name one that does not exist, to make a call
    ///   fail.
    init(cipherName: @escaping (RecordSuite) -> String) {
        self.cipherName = cipherName
        unsafe room = .allocate(capacity: Self.roomBytes)
        unsafe room.initialize(repeating: 0)
    }

    deinit {
        freeContexts()
        unsafe room.deallocate()
    }

    /// Records that a key has ended of which a context may hold a copy: its stream ended, moved to another thread, or
    /// got its next key.
    func noteOldKey() { holdsOldKey = true }

    /// Frees the contexts if one of them may hold a key that has ended; OpenSSL overwrites their memory. Call it once
    /// a turn, and before a thread waits.
    public func forgetKeys() {
        guard holdsOldKey else { return }
        holdsOldKey = false
        freeContexts()
    }

    private func freeContexts() {
        for index in unsafe contexts.indices {
            unsafe EVP_CIPHER_CTX_free(contexts[index])
            unsafe contexts[index] = nil
        }
    }

    /// Seals a record in place: the buffer has its header (section 5.2), its content, and room for the tag.
    func seal(
        _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite
    ) throws(RecordViolation) {
        let work = try unsafe begin(.sealing, record, &key, suite)
        var done: CInt = 0
        let isSealed =
            unsafe EVP_EncryptUpdate(work.context, nil, &done, work.head, CInt(RecordLayer.headBytes)) == 1
            && EVP_EncryptUpdate(work.context, work.content, &done, work.content, CInt(work.count)) == 1
            && done == work.count && EVP_EncryptFinal_ex(work.context, work.tag, &done) == 1
            && EVP_CIPHER_CTX_ctrl(
                work.context, EVP_CTRL_AEAD_GET_TAG, CInt(RecordSuite.tagBytes), work.tag) == 1
        guard isSealed else { throw .failedCall("EVP_EncryptUpdate") }
    }

    /// Opens a whole record in place.
    ///
    /// - Returns: whether it was sealed with this key as the next record. If not, its bytes are meaningless.
    func open(
        _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite
    ) throws(RecordViolation) -> Bool {
        let work = try unsafe begin(.opening, record, &key, suite)
        var done: CInt = 0
        let isRead =
            unsafe EVP_DecryptUpdate(work.context, nil, &done, work.head, CInt(RecordLayer.headBytes)) == 1
            && EVP_DecryptUpdate(work.context, work.content, &done, work.content, CInt(work.count)) == 1
            && done == work.count
            && EVP_CIPHER_CTX_ctrl(
                work.context, EVP_CTRL_AEAD_SET_TAG, CInt(RecordSuite.tagBytes), work.tag) == 1
        guard isRead else { throw .failedCall("EVP_DecryptUpdate") }
        let isGenuine = unsafe EVP_DecryptFinal_ex(work.context, work.tag, &done) == 1
        if !isGenuine { ErrorQueue.clear() }
        return isGenuine
    }

    /// Sets key and nonce of the next record in a context.
    private func begin(
        _ direction: Direction, _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey,
        _ suite: RecordSuite
    ) throws(RecordViolation) -> Work {
        guard let head = record.baseAddress else { preconditionFailure("a record has a head") }
        let context = try unsafe context(direction, suite)
        let nonce = unsafe key.takeNonce()
        guard unsafe EVP_CipherInit_ex2(context, nil, key.key.baseAddress, nonce.baseAddress, -1, nil) == 1
        else { throw .failedCall("EVP_CipherInit_ex2") }
        return unsafe Work(
            context: context, head: head, content: head + RecordLayer.headBytes,
            count: record.count - RecordLayer.headBytes - RecordSuite.tagBytes)
    }

    private func context(
        _ direction: Direction, _ suite: RecordSuite
    ) throws(RecordViolation) -> OpaquePointer {
        let index = suite.rawValue * 2 + Int(direction.rawValue)
        if let context = unsafe contexts[index] { return unsafe context }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .failedCall("EVP_CIPHER_CTX_new") }
        let cipher = unsafe EVP_CIPHER_fetch(nil, cipherName(suite), nil)
        // The context holds its own reference to the cipher.
        defer { unsafe EVP_CIPHER_free(cipher) }
        guard unsafe cipher != nil,
            unsafe EVP_CipherInit_ex2(context, cipher, nil, nil, direction.rawValue, nil) == 1
        else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw .failedCall("EVP_CIPHER_fetch")
        }
        unsafe contexts[index] = context
        return unsafe context
    }
}
