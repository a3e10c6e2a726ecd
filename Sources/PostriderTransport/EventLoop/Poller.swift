internal import CPostriderLinux
internal import Glibc

/// What a descriptor is ready for, or is to be watched for.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The peer will send nothing more: known before what it sent is read.
    static let peerEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// Both directions are closed; reported without being asked for.
    static let hangUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// Reported without being asked for.
    static let error = Readiness(rawValue: EPOLLERR.rawValue)
    /// Each write to an eventfd is reported once, and nobody has to read it empty.
    static let edgeTriggered = Readiness(rawValue: EPOLLET.rawValue)
}

/// One epoll instance and the room for what it reports. Level-triggered unless asked otherwise.
@safe struct Poller: ~Copyable {
    /// How many reports one wait answers at most; what is beyond them comes with the next, before these.
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

    /// Watches `number`; what it is ready for is reported with `token`.
    func add(_ number: Int32, _ interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, number, interest, token)
    }

    func modify(_ number: Int32, _ interest: Readiness, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, number, interest, token)
    }

    func remove(_ number: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, number, [], 0)
    }

    /// Waits for something to be ready; -1 waits without end. Returns how many reports there are.
    func wait(milliseconds: Int32) -> Int {
        let result = systemCall("epoll_wait") {
            unsafe Int(epoll_wait(descriptor.number, events, Int32(capacity), milliseconds))
        }
        guard case .done(let count) = result else { preconditionFailure("bug: epoll_wait") }
        return count
    }

    /// One report of the last wait.
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
