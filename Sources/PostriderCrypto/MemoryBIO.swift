internal import CPostriderCrypto

/// A memory buffer that OpenSSL's PEM functions read from or write to.
@safe struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// Creates an empty buffer to write to.
    init() {
        guard let pointer = unsafe BIO_new(BIO_s_mem()) else { preconditionFailure("out of memory") }
        unsafe self.pointer = pointer
    }

    /// Creates a buffer to read from, which contains `text`.
    init(_ text: String) {
        self.init()
        var text = text
        let count = text.utf8.count
        let written = text.withUTF8 { unsafe BIO_write(pointer, $0.baseAddress, CInt($0.count)) }
        precondition(written == count || count == 0, "out of memory")
    }

    deinit { unsafe BIO_free(pointer) }

    /// Returns everything that was written and not read yet.
    consuming func takeText() -> String {
        let count = unsafe BIO_ctrl_pending(pointer)
        return unsafe String(unsafeUninitializedCapacity: count) {
            Int(unsafe BIO_read(pointer, $0.baseAddress, CInt(count)))
        }
    }
}
