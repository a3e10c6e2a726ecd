import CPostriderSystemd
import Foundation
import Glibc
import PostriderDBus

/// A service on a bus for a connection to talk to, in its own thread until the bus ends. It has one object with these
/// methods:
///
/// - `Echo` answers its arguments.
/// - `Fail` answers an error.
/// - `Silence` never answers.
/// - `Shout` sends a signal with its arguments to everybody, `Whisper` to the caller alone.
/// - `Pipe` answers the read end of a pipe with bytes in it; `IsEnded` answers whether its write end is closed.
enum BusService {
    static let name = "house.postrider.Test"
    static let path = "/house/postrider/Test"
    static let interface = "house.postrider.Test"

    /// Returns when the service has its name.
    static func start(on bus: PrivateBus) {
        let address = bus.address.description
        let ready = DispatchSemaphore(value: 0)
        Thread.detachNewThread { run(address) { ready.signal() } }
        ready.wait()
    }

    private static func run(_ address: String, ready: () -> Void) {
        var made: OpaquePointer?
        unsafe sd_bus_new(&made)
        defer { unsafe sd_bus_close_unref(made) }
        unsafe sd_bus_set_address(made, address)
        unsafe sd_bus_set_bus_client(made, 1)
        var results = [unsafe sd_bus_start(made), unsafe sd_bus_request_name(made, name, 0)]
        let ended = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        unsafe ended.initialize(to: -1)
        defer { unsafe ended.deallocate() }
        results.append(unsafe sd_bus_add_object(made, nil, path, answer, ended))
        ready()
        guard results.allSatisfy({ $0 >= 0 }) else { return }
        while true {
            let result = unsafe sd_bus_process(made, nil)
            if result < 0 { return }
            if result == 0, unsafe sd_bus_wait(made, .max) < 0 { return }
        }
    }
}

private func answer(
    _ call: OpaquePointer?, _ pipeEnd: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    let member = unsafe String(cString: sd_bus_message_get_member(call))
    let pipeEnd = unsafe pipeEnd?.assumingMemoryBound(to: Int32.self)
    var reply: OpaquePointer?
    unsafe sd_bus_message_new_method_return(call, &reply)
    defer { unsafe sd_bus_message_unref(reply) }
    switch member {
    case "Echo": unsafe sd_bus_message_copy(reply, call, 1)
    case "Silence": return 1
    case "Fail":
        var error = unsafe sd_bus_error()
        return unsafe "house.postrider.Error.Asked".withCString { name in
            unsafe "as you wish".withCString { message in
                unsafe error.name = name
                unsafe error.message = message
                return unsafe sd_bus_reply_method_error(call, &error)
            }
        }
    case "Shout", "Whisper":
        var signal: OpaquePointer?
        let bus = unsafe sd_bus_message_get_bus(call)
        unsafe sd_bus_message_new_signal(bus, &signal, BusService.path, BusService.interface, "Heard")
        unsafe sd_bus_message_copy(signal, call, 1)
        let caller = unsafe sd_bus_message_get_sender(call)
        unsafe sd_bus_send_to(bus, signal, member == "Whisper" ? caller : nil, nil)
        unsafe sd_bus_message_unref(signal)
    case "Pipe":
        var ends: [Int32] = [0, 0]
        unsafe pipe(&ends)
        unsafe pipeEnd?.pointee = ends[0]
        unsafe sd_bus_message_append_basic(reply, CChar(UInt8(ascii: "h")), &ends[1])
        close(ends[1])
    case "IsEnded":
        var entry = unsafe pollfd(fd: pipeEnd?.pointee ?? -1, events: 0, revents: 0)
        var isEnded: Int32 = unsafe poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0 ? 1 : 0
        unsafe sd_bus_message_append_basic(reply, CChar(UInt8(ascii: "b")), &isEnded)
    default: return 0
    }
    return unsafe sd_bus_send(nil, reply, nil) < 0 ? -1 : 1
}
