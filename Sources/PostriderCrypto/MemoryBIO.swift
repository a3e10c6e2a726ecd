internal import CPostriderCrypto

/// Text on its way into or out of OpenSSL's PEM functions.
@safe struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// An empty one, to be written.
    init() {
        guard let pointer = unsafe BIO_new(BIO_s_mem()) else { preconditionFailure("out of memory") }
        unsafe self.pointer = pointer
    }

    /// One to be read, that holds `text`.
    init(_ text: String) {
        self.init()
        var text = text
        let count = text.utf8.count
        let written = text.withUTF8 { unsafe BIO_write(pointer, $0.baseAddress, CInt($0.count)) }
        precondition(written == count || count == 0, "out of memory")
    }

    deinit { unsafe BIO_free(pointer) }

    /// Everything that was written and not yet read.
    consuming func takeText() -> String {
        let count = unsafe BIO_ctrl_pending(pointer)
        return unsafe String(unsafeUninitializedCapacity: count) {
            Int(unsafe BIO_read(pointer, $0.baseAddress, CInt(count)))
        }
    }
}
