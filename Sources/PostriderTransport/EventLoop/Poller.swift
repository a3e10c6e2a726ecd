internal import CPostriderLinux
internal import Glibc

/// What a descriptor is ready for, or what to watch it for.
package struct Readiness: OptionSet {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The peer has ended its output. This is reported before the input that came first is read.
    static let peerEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// Both directions are closed. It is reported without being requested.
    static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// The descriptor has an error. It is reported without being requested.
    static let error = Readiness(rawValue: EPOLLERR.rawValue)
    /// Each write to an eventfd is reported once, and nobody has to read the eventfd.
    static let edgeTriggered = Readiness(rawValue: EPOLLET.rawValue)
}

/// One epoll instance and the buffer for its events. It is level-triggered unless `edgeTriggered` is requested.
@safe struct Poller: ~Copyable {
    /// The most events that one wait returns; the others come first in the next.
    let capacity: Int
    private let descriptor: Descriptor
    private let events: UnsafeMutablePointer<epoll_event>

    init(capacity: Int) throws(SystemError) {
        self.capacity = capacity
        descriptor = Descriptor(
            owning: Int32(try systemCall("epoll_create1") { Int(epoll_create1(Int32(EPOLL_CLOEXEC))) }.get()))
        unsafe events = .allocate(capacity: capacity)
        unsafe events.initialize(repeating: epoll_event(), count: capacity)
    }

    deinit { unsafe events.deallocate() }

    /// Watches `number`; its events carry `token`.
    func add(_ number: Int32, _ interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, number, interest, token)
    }

    func modify(_ number: Int32, _ interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, number, interest, token)
    }

    func remove(_ number: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, number, [], 0)
    }

    /// Waits until a descriptor is ready, for ever if `milliseconds` is -1. Returns the number of events.
    func wait(milliseconds: Int32) -> Int {
        let result = systemCall("epoll_wait") {
            unsafe Int(epoll_wait(descriptor.number, events, Int32(capacity), milliseconds))
        }
        guard case .done(let count) = result else { preconditionFailure("bug: epoll_wait") }
        return count
    }

    /// One event of the last wait.
    subscript(index: Int) -> (token: UInt64, readiness: Readiness) {
        precondition(index < capacity)
        let event = unsafe events[index]
        return unsafe (event.data.u64, Readiness(rawValue: event.events))
    }

    private func control(_ operation: Int32, _ number: Int32, _ interest: Readiness, _ token: UInt64)
        throws(SystemError)
    {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: token))
        _ = try systemCall("epoll_ctl") {
            unsafe Int(epoll_ctl(descriptor.number, operation, number, &event))
        }.get()
    }
}
