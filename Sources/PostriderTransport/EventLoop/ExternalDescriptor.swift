internal import Glibc

/// A descriptor that other code owns (such as a library's connection) and that a loop watches.
public final class ExternalDescriptor: EventSource {
    /// The events that the descriptor may be watched for.
    public struct Interest: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8
        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is something to read.
        public static let readable = Interest(rawValue: 1)
        /// There is room to write.
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

    /// Sets the events to watch for from now on. The end of the descriptor is reported in any case.
    public func want(_ interest: Interest) {
        guard isWatched else { return }
        var readiness: Readiness = []
        if interest.contains(.readable) { readiness.insert(.readable) }
        if interest.contains(.writable) { readiness.insert(.writable) }
        loop.watches.change(descriptor.number, readiness, token)
    }

    /// Stops watching and lets the loop release this object.
    public func end() {
        guard isWatched else { return }
        isWatched = false
        loop.unwatch(descriptor.number)
    }

    package func ready(_ readiness: Readiness) { becameReady() }

    package func loopStopped() {}
}

extension EventLoop {
    /// Watches a descriptor, at first only for its end. The loop watches a duplicate, so the owner may close the
    /// descriptor at any time; the duplicate is closed after ``ExternalDescriptor/end()``.
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
