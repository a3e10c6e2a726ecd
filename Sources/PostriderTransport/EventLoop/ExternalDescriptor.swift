internal import Glibc

/// A descriptor that somebody else owns, a library's connection for instance, watched by a loop.
public final class ExternalDescriptor: EventSource {
    /// What it may be watched for.
    public struct Interest: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// A set of these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Something to be read.
        public static let readable = Interest(rawValue: 1)
        /// Room to write.
        public static let writable = Interest(rawValue: 2)
    }

    private let descriptor: Descriptor
    private unowned let loop: EventLoop
    private let becameReady: () -> Void
    private var token: EventLoop.Token = 0
    private var isWatched = false

    fileprivate init(
        _ descriptor: consuming Descriptor, on loop: EventLoop, _ becameReady: @escaping () -> Void
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.loop = loop
        self.becameReady = becameReady
        token = try loop.watch(self.descriptor.number, [], .source(self))
        isWatched = true
    }

    /// What it is watched for from now on. Its end is told in any case.
    public func want(_ interest: Interest) {
        guard isWatched else { return }
        var readiness: Readiness = []
        if interest.contains(.readable) { readiness.insert(.readable) }
        if interest.contains(.writable) { readiness.insert(.writable) }
        loop.change(descriptor.number, readiness, token)
    }

    /// Nobody wants to hear of it any more. The loop holds it until then.
    public func end() {
        guard isWatched else { return }
        isWatched = false
        loop.unwatch(descriptor.number)
    }

    func ready(_ readiness: Readiness) { becameReady() }

    func loopStopped() {}
}

extension EventLoop {
    /// Watches a descriptor, at first for its end only. Whoever owns it may close it at any time: what is watched is a
    /// copy, which is closed after ``ExternalDescriptor/end()``.
    public func watch(
        foreign number: Int32, becameReady: @escaping () -> Void
    ) throws(TransportError) -> ExternalDescriptor {
        do {
            let result = systemCall("fcntl") { Int(fcntl(number, F_DUPFD_CLOEXEC, 3)) }
            let copy = Descriptor(owning: Int32(try result.get()))
            return try ExternalDescriptor(copy, on: self, becameReady)
        } catch {
            throw TransportError("Cannot watch a descriptor: \(error.text).")
        }
    }
}
