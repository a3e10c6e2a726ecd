import CPostriderSystemd
internal import Glibc

/// A connection to a bus, without a thread and without blocking. Its owner watches ``descriptor`` for ``interest``
/// until ``deadline``, then calls ``process()``, and reads all three again whenever ``changed`` is called.
///
/// Replies and signals are delivered only from inside of ``process()``. A connection that has ended cannot be
/// reopened; create another one.
@safe public final class BusConnection {
    let bus: OpaquePointer
    private let mostValues: Int
    private var waiters: [ObjectIdentifier: Waiter] = [:]
    private var heard: [(waiter: Waiter, message: Received)] = []
    private var isClosed = false
    private var wasReady = false
    /// Called when a message was queued, which may change what the connection waits for.
    public var changed: (() -> Void)?

    /// The most pending replies, and the most queued messages. At about 1 KiB each: 1 MiB.
    private static let mostWaiting = 512
    /// The most messages handled in one ``process()``. If more remain, the deadline is in the past.
    private static let stepsAtOnce = 64

    /// A receiver of a reply or of signals. libsystemd knows it by its address, and the connection holds it until its
    /// slot is freed.
    @safe final class Waiter {
        unowned let connection: BusConnection
        let receive: (Received) -> Void
        let isOnce: Bool
        var slot: OpaquePointer?

        init(_ connection: BusConnection, isOnce: Bool, _ receive: @escaping (Received) -> Void) {
            self.connection = connection
            self.receive = receive
            self.isOnce = isOnce
        }

        deinit { unsafe sd_bus_slot_unref(slot) }
    }

    enum Received {
        case reply(BusReply)
        case signal(BusSignal)
        /// A signal with the arguments before one that cannot be read.
        case unreadable(BusSignal, BusError)
        case failure(BusError)
        case request(BusRequest)
    }

    /// Starts to connect. Messages may be queued at once; they are sent when the bus has accepted us.
    ///
    /// - Parameter mostValues: messages with more values are refused; each value costs about 50 bytes while it is
    ///   held.
    /// - Throws: ``BusError/unreachable(_:)`` if nobody listens at the address. If the bus refuses us, ``process()``
    ///   throws later.
    public init(_ address: BusAddress, mostValues: Int = 4096) throws(BusError) {
        var reason = BusError.unreachable("there is no address")
        for alternative in address.alternatives {
            do throws(BusError) {
                unsafe bus = try Self.start(alternative)
                self.mostValues = mostValues
                return
            } catch {
                reason = error
            }
        }
        throw reason
    }

    deinit {
        waiters = [:]
        unsafe sd_bus_close_unref(bus)
    }

    private static func start(_ address: String) throws(BusError) -> OpaquePointer {
        var bus: OpaquePointer?
        guard unsafe sd_bus_new(&bus) >= 0, let bus = unsafe bus else { throw .overloaded }
        var result = unsafe sd_bus_set_address(bus, address)
        if result >= 0 { result = unsafe sd_bus_set_bus_client(bus, 1) }
        if result >= 0 { result = unsafe sd_bus_negotiate_fds(bus, 1) }
        if result >= 0 { result = unsafe sd_bus_start(bus) }
        guard result < 0 else { return unsafe bus }
        unsafe sd_bus_close_unref(bus)
        throw .unreachable("\(address): \(BusError.words(-result))")
    }

    // MARK: What the loop needs to know

    /// The descriptor to watch. It stays the same for the connection's whole life, and is closed with it.
    public var descriptor: Int32 { unsafe sd_bus_get_fd(bus) }

    /// The events to watch for.
    public var interest: BusInterest {
        let events = unsafe sd_bus_get_events(bus)
        guard !isClosed, events >= 0 else { return [] }
        var interest: BusInterest = []
        if events & Int32(POLLIN) != 0 { interest.insert(.readable) }
        if events & Int32(POLLOUT) != 0 { interest.insert(.writable) }
        return interest
    }

    /// When ``process()`` must be called at the latest, in nanoseconds of the monotonic clock; nil for never.
    public var deadline: UInt64? {
        var microseconds: UInt64 = 0
        guard unsafe !isClosed && sd_bus_get_timeout(bus, &microseconds) > 0 else { return nil }
        let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : nanoseconds
    }

    /// The user who owns the bus, as the kernel reports it (`SO_PEERCRED`); nil until the bus has answered.
    public var user: UInt32? {
        var credentials: OpaquePointer?
        guard unsafe !isClosed && sd_bus_get_owner_creds(bus, UInt64(SD_BUS_CREDS_EUID), &credentials) >= 0
        else { return nil }
        defer { unsafe sd_bus_creds_unref(credentials) }
        var user: uid_t = 0
        return unsafe sd_bus_creds_get_euid(credentials, &user) >= 0 ? user : nil
    }

    /// Whether the bus has accepted us.
    public var isReady: Bool { unsafe !isClosed && sd_bus_is_ready(bus) > 0 }

    /// Does what can be done without blocking, and delivers what has arrived.
    ///
    /// - Throws: ``BusError``, once the connection has ended. Pending calls have got their error before.
    public func process() throws(BusError) {
        guard !isClosed else { throw .lost }
        var result: Int32 = 1
        var steps = 0
        while result > 0, steps < Self.stepsAtOnce, unsafe sd_bus_is_open(bus) > 0 {
            result = unsafe sd_bus_process(bus, nil)
            steps += 1
        }
        if isReady { wasReady = true }
        let hasEnded = unsafe result < 0 || sd_bus_is_open(bus) <= 0
        deliver()
        guard hasEnded, !isClosed else { return }
        close()
        throw wasReady ? .lost : .unreachable("the bus did not let us in")
    }

    /// Ends the connection. Pending calls get ``BusError/lost``; no other calls are made afterwards.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        heard = []
        let callers = waiters.values.filter(\.isOnce)
        waiters = [:]
        unsafe sd_bus_close(bus)
        for caller in callers { caller.receive(.failure(.lost)) }
    }

    // MARK: What is said

    func checkRoom() throws(BusError) {
        guard !isClosed else { throw .lost }
        var queued: UInt64 = 0
        let isFull = unsafe sd_bus_get_n_queued_write(bus, &queued) >= 0 && queued >= Self.mostWaiting
        guard !isFull, waiters.count < Self.mostWaiting else { throw .overloaded }
    }

    /// Calls a method. The reply is received once, unless the call throws.
    public func call(
        _ call: BusCall, timeoutMilliseconds: Int = 25_000,
        _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) throws(BusError) {
        try checkRoom()
        var made: OpaquePointer?
        var result = unsafe sd_bus_message_new_method_call(
            bus, &made, call.destination, call.path, call.interface, call.member)
        defer { unsafe sd_bus_message_unref(made) }
        guard result >= 0, let message = unsafe made else {
            throw BusError(result, saying: "a call of \(call.interface).\(call.member)")
        }
        try unsafe MessageWriter(message).append(call.arguments)
        let waiter = Waiter(self, isOnce: true) { received in
            switch received {
            case .reply(let reply): receive(.success(reply))
            case .failure(let error): receive(.failure(error))
            case .signal, .unreadable, .request: preconditionFailure("bug: a signal is no answer")
            }
        }
        let address = unsafe Unmanaged.passUnretained(waiter).toOpaque()
        result = unsafe sd_bus_call_async(
            bus, &waiter.slot, message, hear, address, UInt64(timeoutMilliseconds) * 1000)
        guard result >= 0 else {
            throw BusError(result, saying: "a call of \(call.interface).\(call.member)")
        }
        keep(waiter)
    }

    /// Subscribes to signals for as long as the connection lasts. If the bus refuses that, the connection ends.
    ///
    /// - Parameter unreadable: called with a signal that libsystemd cannot read, such as one with a noncharacter in a
    ///   text, with the arguments before that, and the reason.
    public func listen(
        to match: BusMatch, _ receive: @escaping (BusSignal) -> Void,
        unreadable: @escaping (BusSignal, BusError) -> Void = { _, _ in }
    ) throws(BusError) {
        try checkRoom()
        guard let rule = match.rule else { throw .malformed("a choice of signals") }
        let waiter = Waiter(self, isOnce: false) { received in
            switch received {
            case .signal(let signal): receive(signal)
            case .unreadable(let signal, let error): unreadable(signal, error)
            case .reply, .failure, .request: break
            }
        }
        let address = unsafe Unmanaged.passUnretained(waiter).toOpaque()
        let result = unsafe sd_bus_add_match_async(bus, &waiter.slot, rule, hear, nil, address)
        guard result >= 0 else { throw BusError(result, saying: "a choice of signals") }
        keep(waiter)
    }

    /// Sends a signal to all subscribers.
    public func emit(_ signal: BusSignal) throws(BusError) {
        try checkRoom()
        var made: OpaquePointer?
        var result = unsafe sd_bus_message_new_signal(
            bus, &made, signal.path, signal.interface, signal.member)
        defer { unsafe sd_bus_message_unref(made) }
        if result >= 0, let message = unsafe made {
            try unsafe MessageWriter(message).append(signal.arguments)
            result = unsafe sd_bus_send(bus, message, nil)
        }
        guard result >= 0 else { throw BusError(result, saying: "\(signal.interface).\(signal.member)") }
        changed?()
    }

    // MARK: What is heard

    /// Holds a waiter until the connection ends.
    func keep(_ waiter: Waiter) {
        waiters[ObjectIdentifier(waiter)] = waiter
        changed?()
    }

    /// Copies a call to an object during libsystemd's callback; it is delivered afterwards.
    func takeRequest(_ message: OpaquePointer, for waiter: Waiter) {
        guard !isClosed else { return }
        heard.append((waiter, unsafe .request(BusRequest(message, mostValues: mostValues))))
    }

    /// Copies a message during libsystemd's callback; it is delivered afterwards.
    fileprivate func take(_ message: OpaquePointer, for waiter: Waiter) {
        guard !isClosed else { return }
        heard.append((waiter, unsafe read(message, isReply: waiter.isOnce)))
    }

    private func read(_ message: OpaquePointer, isReply: Bool) -> Received {
        let sender = unsafe Self.text(sd_bus_message_get_sender(message))
        if unsafe sd_bus_message_is_method_error(message, nil) > 0 {
            guard let error = unsafe sd_bus_message_get_error(message) else { return .failure(.lost) }
            let name = unsafe Self.text(error.pointee.name)
            // libsystemd reports this at a timeout, and the bus if the called connection has ended.
            if name == "org.freedesktop.DBus.Error.NoReply" { return .failure(.timedOut) }
            return .failure(.refused(name: name, message: unsafe Self.text(error.pointee.message)))
        }
        var values: [BusValue] = []
        var failure: BusError?
        do throws(BusError) {
            var reader = unsafe MessageReader(message, mostValues: mostValues)
            try reader.read(into: &values)
        } catch {
            failure = error
        }
        guard !isReply else {
            return failure.map { .failure($0) } ?? .reply(BusReply(sender: sender, values: values))
        }
        let signal = unsafe BusSignal(
            sender: sender, path: Self.text(sd_bus_message_get_path(message)),
            interface: Self.text(sd_bus_message_get_interface(message)),
            member: Self.text(sd_bus_message_get_member(message)), arguments: values)
        return failure.map { .unreadable(signal, $0) } ?? .signal(signal)
    }

    private func deliver() {
        var batch: [(waiter: Waiter, message: Received)] = []
        swap(&batch, &heard)
        for (waiter, message) in batch where !isClosed {
            if waiter.isOnce { waiters[ObjectIdentifier(waiter)] = nil }
            waiter.receive(message)
        }
    }

    static func text(_ start: UnsafePointer<CChar>?) -> String {
        unsafe start.map { unsafe String(cString: $0) } ?? ""
    }
}

/// The callback of libsystemd for every message.
private func hear(
    _ message: OpaquePointer?, _ waiter: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message = unsafe message, let waiter = unsafe waiter else { return 0 }
    let known = unsafe Unmanaged<BusConnection.Waiter>.fromOpaque(waiter).takeUnretainedValue()
    unsafe known.connection.take(message, for: known)
    return 0
}
