import CPostriderNghttp2
import Glibc
import Synchronization

/// The memory in which nghttp2 builds the frame it is about to hand out, shared by many servers.
///
/// Each nghttp2 session allocates 16 KiB for it when it is made, and uses it only inside `mem_send`, which
/// we always call until nothing is left. So a handful of buffers serve all sessions of a process: that is
/// two fifths of the memory of an idle connection. A session may move to another thread, hence the lock;
/// with many more buffers than threads it is all but never contended.
final class FrameBuffer: Sendable {
    private static let all = (0..<64).map { _ in FrameBuffer() }
    private static let turn = Atomic(0)

    /// The next one in turn.
    static func next() -> FrameBuffer {
        let number = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return all[number & (all.count - 1)]
    }

    /// What nghttp2 1.52 asks for: the largest payload it sends, a frame header and a byte of padding length.
    static let byteCount = FrameHead.payloadBytes + FrameHead.byteCount + 1

    /// Held while a session that builds its frames here is sending.
    let lock = Mutex(())
    let address: UInt

    private init() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        address = UInt(bitPattern: memory)
    }
}

/// The allocator of one nghttp2 session: malloc, except that the frame buffer is the shared one.
final class SessionMemory {
    let frames = FrameBuffer.next()
    /// The shared buffer is handed out once, while the session is made; later requests of that size are
    /// others.
    var isHandingOut: Bool

    /// A client's session has a buffer of its own: nghttp2 keeps the connection preface there until it is
    /// sent.
    init(role: HTTP2Connection.Role) {
        isHandingOut = role == .server
    }

    /// The functions for nghttp2. They hold this object unretained: it must outlive the nghttp2 session.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, _ in unsafe malloc(size) },
            free: { block, context in
                unsafe SessionMemory.of(context) { memory in
                    if UInt(bitPattern: block) != memory.frames.address {
                        unsafe free(block)
                    }
                }
            },
            calloc: { count, size, _ in unsafe calloc(count, size) },
            realloc: { block, size, context in
                unsafe SessionMemory.of(context) { memory in
                    precondition(
                        UInt(bitPattern: block) != memory.frames.address, "a frame buffer cannot grow")
                    guard memory.isHandingOut, unsafe block == nil, size == FrameBuffer.byteCount else {
                        return unsafe realloc(block, size)
                    }
                    memory.isHandingOut = false
                    return unsafe UnsafeMutableRawPointer(bitPattern: memory.frames.address)
                }
            })
    }

    private static func of<Result>(_ context: UnsafeMutableRawPointer?, _ body: (SessionMemory) -> Result)
        -> Result
    {
        unsafe Unmanaged<SessionMemory>.fromOpaque(context.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
    }
}
