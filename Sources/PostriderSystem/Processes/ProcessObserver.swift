internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Waits for the end of a process that is not a child of this one, such as the test that started a relay.
public enum ProcessObserver {
    /// Calls `ended` once, on a thread of its own, when the process has ended.
    ///
    /// - Parameter identifier: the process number, as this process sees it.
    /// - Throws: `TransportError` if there is no such process, or if the kernel does not report its end.
    public static func start(
        _ identifier: Int32, ended: @escaping @Sendable () -> Void
    ) throws(TransportError) {
        let process: ProcessDescriptor
        do throws(SystemError) {
            process = try ProcessDescriptor(of: identifier)
        } catch {
            throw TransportError(
                error.number == ESRCH
                    ? "There is no process \(identifier): give the number of a process that runs."
                    : "Cannot watch the process \(identifier): \(error.text).")
        }
        _ = try Thread.spawn(name: "parent") {
            process.waitForEnd()
            ended()
        }
    }
}

/// A pidfd: it refers to one process, even after another process has got the same number (pidfd_open(2)).
final class ProcessDescriptor: Sendable {
    private let descriptor: Descriptor

    init(of identifier: Int32) throws(SystemError) {
        let opened = systemCall("pidfd_open") { Int(pidfd_open(identifier, 0)) }
        descriptor = Descriptor(owning: Int32(try opened.get()))
    }

    /// Blocks the calling thread until the process has ended.
    func waitForEnd() {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        // Only a signal interrupts poll(2) without a time limit, and then the call is repeated.
        _ = systemCall("poll") { unsafe Int(poll(&entry, 1, -1)) }
    }

    /// Sends a signal to the process unless it has ended and was waited for.
    func send(_ signal: Int32) { _ = pidfd_send_signal(descriptor.number, signal, nil, 0) }
}
