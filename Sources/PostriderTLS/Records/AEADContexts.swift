internal import CPostriderSSL
internal import PostriderCrypto

/// What all TLS streams of one thread share: OpenSSL's contexts of the AEAD ciphers, and room for a record.
///
/// A context gets its key anew for each record, which takes a third of a microsecond. Contexts of its own, for both
/// directions, would cost each stream two kilobytes, which are in no cache when a record arrives; a key is 16 bytes.
///
/// So a context holds the key of its last record, which is also in its stream. When that stream ends, its key must go
/// here as well: see ``forgetKeys()``.
@safe public final class AEADContexts {
    /// A record of full length, and one in front of it that announces a new key.
    private static let roomBytes = RecordLayer.mostBytes + 64

    /// Of each suite one that opens, then one that seals.
    private var contexts = unsafe InlineArray<6, OpaquePointer?>(repeating: nil)
    /// OpenSSL's name of a suite's cipher.
    private let cipherName: (RecordSuite) -> String
    let derivation = KeyDerivation()
    /// Whether a context may hold a key that no stream has any more.
    private var holdsOldKey = false
    /// Where records are sealed before they are sent. Its content lasts for one call.
    let room: UnsafeMutableBufferPointer<UInt8>

    private enum Direction: CInt {
        case opening = 0
        case sealing = 1
    }

    /// A record, and the context that has its key.
    @safe private struct Work {
        let context: OpaquePointer
        let head: UnsafeMutablePointer<UInt8>
        let content: UnsafeMutablePointer<UInt8>
        let count: Int
        /// Behind the content.
        var tag: UnsafeMutablePointer<UInt8> { unsafe content + count }
    }

    /// Makes room. The contexts are made when they are used.
    public convenience init() { self.init(cipherName: \.cipherName) }

    /// - Parameter cipherName: which cipher a suite has. Tests name one that does not exist, to see a call fail.
    init(cipherName: @escaping (RecordSuite) -> String) {
        self.cipherName = cipherName
        unsafe room = .allocate(capacity: Self.roomBytes)
        unsafe room.initialize(repeating: 0)
    }

    deinit {
        freeContexts()
        unsafe room.deallocate()
    }

    /// Notes that a key has come to its end whose copy may be here: its stream ended, was given to another thread, or
    /// got its next key.
    func noteOldKey() { holdsOldKey = true }

    /// Frees the contexts if one of them may hold a key that came to its end; OpenSSL overwrites what it frees of them.
    /// To be called once a turn, and before a thread waits.
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

    /// Seals a record that lies where it is to be: behind its head (section 5.2) its content, and room for the tag.
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

    /// Opens a whole record where it lies.
    ///
    /// - Returns: whether it was sealed with this key as the next record. If not, what is in its place means nothing.
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

    /// Gives a context the key and the nonce of the next record.
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
        // The context counts its reference to the cipher.
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
