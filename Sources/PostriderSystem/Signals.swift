internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Signals as events of a loop. They must be blocked before the first thread starts, because threads inherit the
/// signal mask.
public enum Signals {
    /// Ignores SIGPIPE, so that a write to a closed socket is an error and does not end the process.
    public static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Blocks `signals` in this thread and in threads that it starts; a loop's `onSignal` reports them.
    public static func block(_ signals: [Int32]) {
        var set = mask(signals)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    static func mask(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in signals { unsafe sigaddset(&set, number) }
        return set
    }
}

/// The process that has sent a signal, as the kernel reports it.
public struct SignalSender: Sendable, Equatable {
    /// Its user, by number.
    public let user: UInt32
    /// Its number.
    public let process: Int32
}

/// A signalfd on a loop.
final class SignalSource: EventSource {
    private let descriptor: Descriptor
    private let receive: (Int32, SignalSender?) -> Void

    init(_ signals: [Int32], _ receive: @escaping (Int32, SignalSender?) -> Void) throws(SystemError) {
        var set = Signals.mask(signals)
        let flags = Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC)
        let result = systemCall("signalfd") { unsafe Int(signalfd(-1, &set, flags)) }
        descriptor = Descriptor(owning: Int32(try result.get()))
        self.receive = receive
    }

    var number: Int32 { descriptor.number }

    func ready(_ readiness: Readiness) {
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while case .done(size) = systemCall("read", { unsafe read(descriptor.number, &information, size) }) {
            // Other codes are the kernel's, which has no process.
            let isOfProcess =
                information.ssi_code == Int32(SI_USER) || information.ssi_code == Int32(SI_QUEUE)
            receive(
                Int32(information.ssi_signo),
                isOfProcess
                    ? SignalSender(user: information.ssi_uid, process: Int32(information.ssi_pid)) : nil)
        }
    }

    func loopStopped() {}
}

extension EventLoop {
    /// Calls `receive` with the number of each signal of `signals` that arrives. All threads must have blocked them
    /// before: `Signals.block`.
    public func onSignal(_ signals: [Int32], _ receive: @escaping (Int32) -> Void) throws(TransportError) {
        try onSignalOfSender(signals) { signal, _ in receive(signal) }
    }

    /// The same, with the sender; nil if the kernel itself has sent the signal, such as a terminal that was closed.
    public func onSignalOfSender(
        _ signals: [Int32], _ receive: @escaping (Int32, SignalSender?) -> Void
    ) throws(TransportError) {
        do {
            let source = try SignalSource(signals, receive)
            try watch(source.number, readableFor: source)
        } catch {
            throw TransportError("Cannot watch signals: \(error.text).")
        }
    }
}
