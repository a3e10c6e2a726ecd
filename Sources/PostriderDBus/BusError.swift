internal import Glibc

/// What can go wrong on a bus, each one sentence. No number of libsystemd or errno leaves this module but in words.
public enum BusError: Error, Equatable, CustomStringConvertible {
    /// There is no bus at the address, or it does not let this user in.
    case unreachable(String)
    /// The connection has ended; a new one may be made.
    case lost
    /// What was to be said cannot be: a text with a zero byte, a name or a signature that is none.
    case malformed(String)
    /// The other side answers with an error, of this name.
    case refused(name: String, message: String)
    /// No answer came in time, or none will: whoever was called has gone.
    case timedOut
    /// More is waiting to be sent than a connection holds.
    case overloaded
    /// A message was received that has more values than are taken.
    case tooLarge

    /// Whether nobody has the name that was called.
    public var isAbsence: Bool {
        guard case .refused(let name, _) = self else { return false }
        let errors = "org.freedesktop.DBus.Error."
        return name == errors + "ServiceUnknown" || name == errors + "NameHasNoOwner"
            || name.hasPrefix(errors + "Spawn.")
    }

    /// One sentence, without its full stop.
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

    /// What a negative answer of libsystemd to a request of ours means.
    init(_ result: Int32, saying what: String) {
        switch -result {
        case ENOTCONN, ECONNRESET, EPIPE, ESHUTDOWN: self = .lost
        case ENOBUFS, ENOMEM: self = .overloaded
        default: self = .malformed(what)
        }
    }

    /// The kernel's words for an error number.
    static func words(_ number: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 128)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            _ = unsafe strerror_r(number, start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }
}
