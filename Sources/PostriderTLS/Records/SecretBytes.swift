internal import CPostriderSSL

/// Memory for key material, which is overwritten before it is freed.
///
/// The bytes stay at one address on the heap for their whole life. Swift moves values, including those that cannot be
/// copied, by copying their bytes, and does not clear the old location, so a key inside of the value itself could not
/// be overwritten reliably.
@safe struct SecretBytes: ~Copyable {
    let count: Int
    private let start: UnsafeMutablePointer<UInt8>

    /// Allocates `count` zero bytes. `OPENSSL_malloc` fails only if the process is out of memory.
    init(count: Int) {
        guard let memory = unsafe CRYPTO_zalloc(count, #fileID, #line) else {
            preconditionFailure("out of memory")
        }
        self.count = count
        unsafe start = memory.bindMemory(to: UInt8.self, capacity: count)
    }

    deinit { unsafe CRYPTO_clear_free(start, count, #fileID, #line) }

    /// A part of the bytes. The pointer is valid for as long as this value lives.
    subscript(range: Range<Int>) -> UnsafeMutableBufferPointer<UInt8> {
        precondition(0 <= range.lowerBound && range.upperBound <= count, "a part lies inside of the whole")
        return unsafe UnsafeMutableBufferPointer(start: start + range.lowerBound, count: range.count)
    }
}
