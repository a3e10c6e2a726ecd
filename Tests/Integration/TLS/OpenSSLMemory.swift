import CPostriderSSL
import Glibc
import Synchronization

/// Observes the memory blocks of OpenSSL with our own allocation functions (CRYPTO_set_mem_functions(3)). For one
/// thread, in a process that has not used OpenSSL yet. Addresses are kept as numbers, because C functions can have no
/// other state.
enum OpenSSLMemory {
    /// The head in front of each block: its neighbours in the list of all blocks, and its size.
    private struct Head {
        var previous: UInt
        var next: UInt
        var count: Int
    }

    private static let headBytes = 32
    private static let first = Atomic<UInt>(0)
    private static let patternAddress = Atomic<UInt>(0)
    private static let freed = Atomic<Int>(0)
    private static let findsInFreed = Atomic<Int>(0)
    static let patternBytes = 16

    /// Begins to observe. Traps if the library has allocated memory already.
    static func watch() {
        let status = unsafe CRYPTO_set_mem_functions(
            { count, _, _ in unsafe OpenSSLMemory.allocate(count) },
            { block, count, _, _ in unsafe OpenSSLMemory.reallocate(block, count) },
            { block, _, _ in unsafe OpenSSLMemory.free(block) })
        precondition(status == 1, "the library has no memory yet")
    }

    /// Looks for these bytes from now on.
    static func look(for pattern: [UInt8]) {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: patternBytes)
        for place in 0..<patternBytes { unsafe copy[place] = pattern[place] }
        patternAddress.store(UInt(bitPattern: copy), ordering: .relaxed)
        freed.store(0, ordering: .relaxed)
        findsInFreed.store(0, ordering: .relaxed)
    }

    /// The number of blocks that were freed since, and how many of them contained the bytes.
    static var freedBlocks: Int { freed.load(ordering: .relaxed) }
    static var freedBlocksWithPattern: Int { findsInFreed.load(ordering: .relaxed) }

    /// The number of blocks that contain the bytes now.
    static var blocksWithPattern: Int {
        var count = 0
        var address = first.load(ordering: .relaxed)
        while let head = unsafe UnsafeMutableRawPointer(bitPattern: address) {
            if unsafe holdsPattern(head) { count += 1 }
            address = unsafe head.load(as: Head.self).next
        }
        return count
    }

    private static func holdsPattern(_ head: UnsafeMutableRawPointer) -> Bool {
        let address = patternAddress.load(ordering: .relaxed)
        guard let pattern = unsafe UnsafeRawPointer(bitPattern: address) else { return false }
        var start = unsafe head + headBytes
        let end = unsafe start + head.load(as: Head.self).count
        let first = unsafe CInt(pattern.load(as: UInt8.self))
        while unsafe end - start >= patternBytes, let found = unsafe memchr(start, first, end - start) {
            if unsafe end - found >= patternBytes, unsafe memcmp(found, pattern, patternBytes) == 0 {
                return true
            }
            unsafe start = found + 1
        }
        return false
    }

    private static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        guard let head = unsafe malloc(headBytes + count) else { return nil }
        let next = first.load(ordering: .relaxed)
        unsafe head.storeBytes(of: Head(previous: 0, next: next, count: count), as: Head.self)
        change(next) { $0.previous = UInt(bitPattern: head) }
        first.store(UInt(bitPattern: head), ordering: .relaxed)
        return unsafe head + headBytes
    }

    private static func reallocate(
        _ block: UnsafeMutableRawPointer?, _ count: Int
    ) -> UnsafeMutableRawPointer? {
        let new = unsafe allocate(count)
        if let block = unsafe block, let new = unsafe new {
            let old = unsafe (block - headBytes).load(as: Head.self).count
            unsafe new.copyMemory(from: block, byteCount: min(old, count))
            unsafe free(block)
        }
        return unsafe new
    }

    private static func free(_ block: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let address = unsafe block - headBytes
        freed.add(1, ordering: .relaxed)
        if unsafe holdsPattern(address) { findsInFreed.add(1, ordering: .relaxed) }
        let head = unsafe address.load(as: Head.self)
        if head.previous == 0 { first.store(head.next, ordering: .relaxed) }
        change(head.previous) { $0.next = head.next }
        change(head.next) { $0.previous = head.previous }
        unsafe Glibc.free(address)
    }

    private static func change(_ address: UInt, _ body: (inout Head) -> Void) {
        guard let head = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        var value = unsafe head.load(as: Head.self)
        body(&value)
        unsafe head.storeBytes(of: value, as: Head.self)
    }
}
