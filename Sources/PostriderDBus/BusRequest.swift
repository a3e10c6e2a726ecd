import CPostriderSystemd

/// A call of another connection to an object of this one. Whoever takes it answers it once, by
/// ``BusConnection/answer(_:with:)``; a call that is never answered ends at its caller's timeout.
@safe public final class BusRequest {
    let message: OpaquePointer
    /// The unique name of the calling connection, which the bus guarantees.
    public let sender: String
    /// The interface; empty if the call names none.
    public let interface: String
    /// The method.
    public let member: String
    /// The arguments; nil if they have more values than are accepted, or cannot be read.
    public let arguments: [BusValue]?

    /// Copies a call and keeps it until it is answered.
    init(_ message: OpaquePointer, mostValues: Int) {
        unsafe self.message = unsafe sd_bus_message_ref(message)
        unsafe sender = BusConnection.text(sd_bus_message_get_sender(message))
        unsafe interface = BusConnection.text(sd_bus_message_get_interface(message))
        unsafe member = BusConnection.text(sd_bus_message_get_member(message))
        var values: [BusValue] = []
        do throws(BusError) {
            var reader = unsafe MessageReader(message, mostValues: mostValues)
            try reader.read(into: &values)
            arguments = values
        } catch {
            arguments = nil
        }
    }

    deinit { unsafe sd_bus_message_unref(message) }
}

/// The answer to a ``BusRequest``.
public enum BusAnswer: Equatable, Sendable {
    /// The method's results.
    case values([BusValue])
    /// An error with its name, such as `org.freedesktop.DBus.Error.InvalidArgs`, and one sentence.
    case error(name: String, message: String)
}

extension BusConnection {
    /// Takes the calls to an object for as long as the connection lasts, also those to the standard interfaces except
    /// `org.freedesktop.DBus.Peer`.
    public func serve(_ path: String, _ receive: @escaping (BusRequest) -> Void) throws(BusError) {
        try checkRoom()
        let waiter = Waiter(self, isOnce: false) { received in
            if case .request(let request) = received { receive(request) }
        }
        let address = unsafe Unmanaged.passUnretained(waiter).toOpaque()
        let result = unsafe sd_bus_add_object(bus, &waiter.slot, path, hearRequest, address)
        guard result >= 0 else { throw BusError(result, saying: "the object \(path)") }
        keep(waiter)
    }

    /// Answers a call. A caller that wants no answer gets none.
    public func answer(_ request: BusRequest, with answer: BusAnswer) throws(BusError) {
        try checkRoom()
        var made: OpaquePointer?
        defer { unsafe sd_bus_message_unref(made) }
        var result: Int32
        switch answer {
        case .values(let values):
            result = unsafe sd_bus_message_new_method_return(request.message, &made)
            if result >= 0, let message = unsafe made { try unsafe MessageWriter(message).append(values) }
        case .error(let name, let text):
            result = unsafe name.withCString { name in
                unsafe BusValue.carried(text).withCString { text in
                    var error = unsafe sd_bus_error(name: name, message: text, _need_free: 0)
                    return unsafe sd_bus_message_new_method_error(request.message, &made, &error)
                }
            }
        }
        if result >= 0 { result = unsafe sd_bus_send(bus, made, nil) }
        guard result >= 0 else { throw BusError(result, saying: "the answer to \(request.member)") }
        changed?()
    }

    /// Calls a method without wanting an answer (the flag NO_REPLY_EXPECTED of the D-Bus specification).
    public func tell(_ call: BusCall) throws(BusError) {
        try checkRoom()
        var made: OpaquePointer?
        defer { unsafe sd_bus_message_unref(made) }
        var result = unsafe sd_bus_message_new_method_call(
            bus, &made, call.destination, call.path, call.interface, call.member)
        if result >= 0, let message = unsafe made {
            try unsafe MessageWriter(message).append(call.arguments)
            result = unsafe sd_bus_message_set_expect_reply(message, 0)
            if result >= 0 { result = unsafe sd_bus_send(bus, message, nil) }
        }
        guard result >= 0 else {
            throw BusError(result, saying: "a call of \(call.interface).\(call.member)")
        }
        changed?()
    }
}

/// The callback of libsystemd for every call to a served object.
private func hearRequest(
    _ message: OpaquePointer?, _ waiter: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let message = unsafe message, let waiter = unsafe waiter else { return 0 }
    let known = unsafe Unmanaged<BusConnection.Waiter>.fromOpaque(waiter).takeUnretainedValue()
    unsafe known.connection.takeRequest(message, for: known)
    // The call is answered later, by this process.
    return 1
}
