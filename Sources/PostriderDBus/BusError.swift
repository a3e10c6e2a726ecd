internal import Glibc

/// Errors of a bus, each with one sentence. Numbers of libsystemd and errno leave this module only as words.
public enum BusError: Error, Equatable, CustomStringConvertible {
    /// There is no bus at the address, or it refuses this user.
    case unreachable(String)
    /// The connection has ended. Another one may be created.
    case lost
    /// A message to be sent is invalid: a text with a zero byte, an invalid name or signature.
    case malformed(String)
    /// The other side has replied with an error of this name.
    case refused(name: String, message: String)
    /// No reply came in time, or none will, because the called connection has ended.
    case timedOut
    /// More messages are queued than a connection may hold.
    case overloaded
    /// A received message has more values than are accepted.
    case tooLarge

    /// Whether no connection has the called name.
    public var isAbsence: Bool {
        guard case .refused(let name, _) = self else { return false }
        let errors = "org.freedesktop.DBus.Error."
        return name == errors + "ServiceUnknown" || name == errors + "NameHasNoOwner"
            || name.hasPrefix(errors + "Spawn.")
    }

    /// One sentence without its full stop.
    public var description: String {
        switch self {
        case .unreachable(let reason): "cannot connect to the bus: \(reason)"
        case .lost: "the connection to the bus has ended"
        case .malformed(let what): "\(what) cannot be said on a bus"
        case .refused(let name, let message): message.isEmpty ? name : "\(message) (\(name))"
        case .timedOut: "no answer came over the bus"
        case .overloaded: "the bus does not take what is said to it"
        case .tooLarge: "a message on the bus is too large"
        }
    }

    /// The error for a negative result of libsystemd.
    init(_ result: Int32, saying what: String) {
        switch -result {
        case ENOTCONN, ECONNRESET, EPIPE, ESHUTDOWN: self = .lost
        case ENOBUFS, ENOMEM: self = .overloaded
        default: self = .malformed(what)
        }
    }

    /// The kernel's words for an errno.
    static func words(_ number: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 128)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = unsafe strerror_r(number, start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }
}
