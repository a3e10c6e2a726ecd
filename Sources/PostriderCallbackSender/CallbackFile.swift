import FoundationEssentials
import Glibc
package import PostriderCallbacks
package import PostriderNotifications
import Synchronization

/// A file of the records of callbacks, which is appended to, and written anew without what is settled when it has grown
/// to twice its length. It is created so that only its owner can read it.
///
/// What is written survives the end of the process at any moment. It is not synced: a power failure may lose the last
/// seconds. While the disk refuses it, callbacks go on in memory.
package final class CallbackFile: CallbackStore {
    private struct State {
        var descriptor: CInt = -1
        var byteCount = 0
        /// The length at which the file is written anew.
        var mostBytes = CallbackFile.leastBytes
        var isFailing = false
    }

    private let path: String
    private let log: Log
    private let state = Mutex(State())

    /// The file is not written anew before it has this length.
    private static let leastBytes = 4 * 1024 * 1024

    /// A file at this path. It is opened, and created if it is missing, by ``load()``.
    package init(_ path: String, log: Log) {
        self.path = path
        self.log = log
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    /// Reads the file. A line that cannot be read is skipped.
    package func load() -> CallbackBacklog {
        state.withLock { state in
            let backlog = read()
            rewrite(backlog, &state)
            return backlog
        }
    }

    /// Appends the records, if the file is open.
    package func append(_ records: [CallbackRecord]) {
        guard !records.isEmpty else { return }
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            do throws(Failure) {
                let count = try Self.write(records, to: state.descriptor)
                state.byteCount += count
                succeed(&state)
            } catch {
                // The beginning of a line would spoil the next one.
                ftruncate(state.descriptor, off_t(state.byteCount))
                fail(error, &state)
            }
            if state.byteCount >= state.mostBytes { rewrite(read(), &state) }
        }
    }

    private func read() -> CallbackBacklog {
        var backlog = CallbackBacklog()
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { return backlog }
        for line in data.split(separator: UInt8(ascii: "\n")) {
            CallbackRecord(line: String(decoding: line, as: UTF8.self)).map { backlog.take($0) }
        }
        return backlog
    }

    /// Replaces the file by one with the records of this backlog. If that fails, the present one is appended to.
    private func rewrite(_ backlog: CallbackBacklog, _ state: inout State) {
        let newer = path + ".new"
        do throws(Failure) {
            let descriptor = try Self.open(newer, O_TRUNC)
            do throws(Failure) {
                let count = try Self.write(backlog.records, to: descriptor)
                guard unsafe rename(newer, path) == 0 else { throw Failure(code: errno) }
                if state.descriptor >= 0 { close(state.descriptor) }
                (state.descriptor, state.byteCount) = (descriptor, count)
                succeed(&state)
            } catch {
                close(descriptor)
                throw error
            }
        } catch {
            fail(error, &state)
            if state.descriptor < 0, let descriptor = try? Self.open(path, 0) {
                (state.descriptor, state.byteCount) = (descriptor, Int(lseek(descriptor, 0, SEEK_END)))
            }
        }
        state.mostBytes = max(2 * state.byteCount, Self.leastBytes)
    }

    private struct Failure: Error { let code: CInt }

    private static func open(_ path: String, _ flags: CInt) throws(Failure) -> CInt {
        let flags = flags | O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let descriptor = unsafe Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        return descriptor
    }

    /// Writes the records, and returns their number of bytes.
    private static func write(_ records: [CallbackRecord], to descriptor: CInt) throws(Failure) -> Int {
        let bytes = Array(records.map { $0.line + "\n" }.joined().utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe Glibc.write(
                    descriptor, all.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            let code = errno
            if count < 0, code == EINTR { continue }
            guard count > 0 else { throw Failure(code: count < 0 ? code : ENOSPC) }
            written += count
        }
        return written
    }

    private func succeed(_ state: inout State) {
        if state.isFailing { log.notice("callbacks are written to \(path) again") }
        state.isFailing = false
    }

    private func fail(_ failure: Failure, _ state: inout State) {
        guard !state.isFailing else { return }
        state.isFailing = true
        let reason = unsafe String(cString: strerror(failure.code))
        log.error(
            "callbacks that are owed do not survive a restart, because \(path) cannot be written: \(reason)")
    }
}
