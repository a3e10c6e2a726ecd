internal import CPostriderOpenSSL

/// What all TLS streams of one thread seal and open their records with: OpenSSL's ciphers, and room for a record.
///
/// The ciphers are keyed anew for each record, which takes a third of a microsecond. Contexts of its own, for both
/// directions, would cost each stream two kilobytes, which are in no cache when a record comes; a key is 16 bytes.
@safe public final class AEADContexts {
    /// A record of full length, and one in front of it that announces a new key.
    private static let roomBytes = RecordLayer.mostBytes + 64

    /// Of each suite one that opens, then one that seals.
    private var contexts = unsafe InlineArray<6, OpaquePointer?>(repeating: nil)
    /// What their keys are derived with, and those of handshakes.
    let schedule = KeySchedule()
    /// Where records are sealed, before they are sent. Its content lasts for one call.
    let room: UnsafeMutableBufferPointer<UInt8>

    private enum Direction: CInt {
        case opening = 0
        case sealing = 1
    }

    /// A record in the hands of its cipher.
    @safe private struct Work {
        let context: OpaquePointer
        let head: UnsafeMutablePointer<UInt8>
        let content: UnsafeMutablePointer<UInt8>
        let count: Int
        /// Behind the content.
        var tag: UnsafeMutablePointer<UInt8> { unsafe content + count }
    }

    /// Makes room. The ciphers are made when they are used.
    public init() {
        unsafe room = .allocate(capacity: Self.roomBytes)
        unsafe room.initialize(repeating: 0)
    }

    deinit {
        unsafe room.deallocate()
        for index in unsafe contexts.indices { unsafe EVP_CIPHER_CTX_free(contexts[index]) }
    }

    /// Seals a record that lies where it is to be: behind its head (section 5.2) its content, and room for the tag.
    func seal(_ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite) {
        let work = unsafe begin(.sealing, record, &key, suite)
        var done: CInt = 0
        let isSealed =
            unsafe EVP_EncryptUpdate(work.context, nil, &done, work.head, CInt(RecordLayer.headBytes)) == 1
            && EVP_EncryptUpdate(work.context, work.content, &done, work.content, CInt(work.count)) == 1
            && done == work.count && EVP_EncryptFinal_ex(work.context, work.tag, &done) == 1
            && EVP_CIPHER_CTX_ctrl(
                work.context, EVP_CTRL_AEAD_GET_TAG, CInt(RecordSuite.tagBytes), work.tag) == 1
        precondition(isSealed, "an authenticated cipher seals whatever it is given")
    }

    /// Opens a whole record where it lies. False: it was not sealed with this key as the next one, and what is in its
    /// place is nothing.
    func open(
        _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite
    ) -> Bool {
        let work = unsafe begin(.opening, record, &key, suite)
        var done: CInt = 0
        let isRead =
            unsafe EVP_DecryptUpdate(work.context, nil, &done, work.head, CInt(RecordLayer.headBytes)) == 1
            && EVP_DecryptUpdate(work.context, work.content, &done, work.content, CInt(work.count)) == 1
            && done == work.count
            && EVP_CIPHER_CTX_ctrl(
                work.context, EVP_CTRL_AEAD_SET_TAG, CInt(RecordSuite.tagBytes), work.tag) == 1
        precondition(isRead, "an authenticated cipher reads whatever it is given")
        let isGenuine = unsafe EVP_DecryptFinal_ex(work.context, work.tag, &done) == 1
        if !isGenuine { ErrorQueue.clear() }
        return isGenuine
    }

    /// Keys a cipher for the next record.
    private func begin(
        _ direction: Direction, _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey,
        _ suite: RecordSuite
    ) -> Work {
        guard let head = record.baseAddress else { preconditionFailure("a record has a head") }
        let context = unsafe context(direction, suite)
        var nonce = key.takeNonce()
        var bytes = key.key
        let status = unsafe withUnsafeMutableBytes(of: &nonce) { nonce in
            unsafe withUnsafeMutableBytes(of: &bytes) { bytes in
                let nonce = unsafe nonce.bindMemory(to: UInt8.self).baseAddress
                let bytes = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
                return unsafe EVP_CipherInit_ex2(context, nil, bytes, nonce, -1, nil)
            }
        }
        precondition(status == 1, "a cipher takes a key of its size")
        return unsafe Work(
            context: context, head: head, content: head + RecordLayer.headBytes,
            count: record.count - RecordLayer.headBytes - RecordSuite.tagBytes)
    }

    private func context(_ direction: Direction, _ suite: RecordSuite) -> OpaquePointer {
        let index = suite.rawValue * 2 + Int(direction.rawValue)
        if let context = unsafe contexts[index] { return unsafe context }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        let cipher = unsafe EVP_CIPHER_fetch(nil, suite.cipherName, nil)
        let status = unsafe EVP_CipherInit_ex2(context, cipher, nil, nil, direction.rawValue, nil)
        precondition(status == 1, "OpenSSL's default provider has the suites of TLS 1.3")
        // The context keeps it.
        unsafe EVP_CIPHER_free(cipher)
        unsafe contexts[index] = context
        return unsafe context
    }
}
