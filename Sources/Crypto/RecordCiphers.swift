internal import COpenSSL

/// What all TLS streams of one thread seal and open their records with: OpenSSL's ciphers, and room for a record.
///
/// The ciphers are keyed anew for each record, which takes a third of a microsecond. Contexts of its own, for both
/// directions, would cost each stream two kilobytes, which are in no cache when a record comes; a key is 16 bytes.
@safe public final class RecordCiphers {
    /// A record of full length, and one in front of it that announces a new key.
    private static let roomBytes = RecordLayer.mostBytes + 64

    private var sealing = unsafe Contexts(repeating: nil)
    private var opening = unsafe Contexts(repeating: nil)
    /// Where records are sealed, before they are sent. Its content lasts for one call.
    let room: UnsafeMutableBufferPointer<UInt8>

    private typealias Contexts = InlineArray<3, OpaquePointer?>

    /// Makes room. The ciphers are made when they are used.
    public init() {
        unsafe room = .allocate(capacity: Self.roomBytes)
        unsafe room.initialize(repeating: 0)
    }

    deinit {
        unsafe room.deallocate()
        for suite in RecordSuite.allCases {
            unsafe EVP_CIPHER_CTX_free(sealing[suite.rawValue])
            unsafe EVP_CIPHER_CTX_free(opening[suite.rawValue])
        }
    }

    /// Seals a record that lies where it is to be: behind its head (section 5.2) its content, and room for the tag.
    func seal(_ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite) {
        if unsafe sealing[suite.rawValue] == nil {
            unsafe sealing[suite.rawValue] = Self.makeContext(suite, 1)
        }
        let context = unsafe sealing[suite.rawValue]
        guard let head = record.baseAddress else { preconditionFailure("a record has a head") }
        let content = unsafe head + RecordLayer.headBytes
        let count = record.count - RecordLayer.headBytes - RecordSuite.tagBytes
        var done: CInt = 0
        unsafe begin(context, &key)
        let isSealed =
            unsafe EVP_EncryptUpdate(context, nil, &done, head, CInt(RecordLayer.headBytes)) == 1
            && EVP_EncryptUpdate(context, content, &done, content, CInt(count)) == 1 && done == count
            && EVP_EncryptFinal_ex(context, content + count, &done) == 1
            && EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_GET_TAG, CInt(RecordSuite.tagBytes), content + count) == 1
        precondition(isSealed, "an authenticated cipher seals whatever it is given")
    }

    /// Opens a whole record where it lies. False: it was not sealed with this key as the next one, and what is in its
    /// place is nothing.
    func open(
        _ record: UnsafeMutableBufferPointer<UInt8>, _ key: inout TrafficKey, _ suite: RecordSuite
    ) -> Bool {
        if unsafe opening[suite.rawValue] == nil {
            unsafe opening[suite.rawValue] = Self.makeContext(suite, 0)
        }
        let context = unsafe opening[suite.rawValue]
        guard let head = record.baseAddress else { preconditionFailure("a record has a head") }
        let content = unsafe head + RecordLayer.headBytes
        let count = record.count - RecordLayer.headBytes - RecordSuite.tagBytes
        var done: CInt = 0
        unsafe begin(context, &key)
        let isRead =
            unsafe EVP_DecryptUpdate(context, nil, &done, head, CInt(RecordLayer.headBytes)) == 1
            && EVP_DecryptUpdate(context, content, &done, content, CInt(count)) == 1 && done == count
            && EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_SET_TAG, CInt(RecordSuite.tagBytes), content + count) == 1
        precondition(isRead, "an authenticated cipher reads whatever it is given")
        let isGenuine = unsafe EVP_DecryptFinal_ex(context, content + count, &done) == 1
        if !isGenuine { ErrorQueue.clear() }
        return isGenuine
    }

    private func begin(_ context: OpaquePointer?, _ key: inout TrafficKey) {
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
    }

    private static func makeContext(_ suite: RecordSuite, _ direction: CInt) -> OpaquePointer {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        let cipher = unsafe EVP_CIPHER_fetch(nil, suite.cipherName, nil)
        let status = unsafe EVP_CipherInit_ex2(context, cipher, nil, nil, direction, nil)
        precondition(status == 1, "OpenSSL's default provider has the suites of TLS 1.3")
        // The context keeps it.
        unsafe EVP_CIPHER_free(cipher)
        return unsafe context
    }
}
