internal import Glibc

/// Why a file is not trusted.
public indirect enum FileAccessError: Error, Equatable {
    /// The kernel refuses to open or read it; the payload is the errno.
    case system(Int32)
    /// It is a directory, a pipe or a device.
    case notRegular
    /// No user may execute it.
    case notExecutable
    /// It has more bytes than this limit.
    case tooLong(Int)
    /// It has an access control list of an unknown form.
    case unknownList
    /// This user owns it and must not.
    case owner(UInt32)
    /// This user owns the symbolic link of this name on the path to it, and must not.
    case link(String, owner: UInt32)
    /// Another user could replace the file, because of this error of this directory on the path to it.
    case directory(String, FileAccessError)
    /// This user or group may read it and must not.
    case readable(by: AccessHolder)
    /// This user or group may change it and must not.
    case changeable(by: AccessHolder)

    /// Whether the file does not exist.
    public var isMissing: Bool { self == .system(ENOENT) || self == .system(ENOTDIR) }

    /// The rest of a sentence that begins with the file: what is wrong with it, and what to do.
    public var explanation: String {
        switch self {
        case .system(let code):
            let remedy = "name a file that is there and that this user may read"
            return "cannot be opened: \(unsafe String(cString: strerror(code))); \(remedy)"
        case .notRegular: return "is not a regular file"
        case .notExecutable: return "cannot be executed; run chmod +x on it"
        case .tooLong(let bytes): return "has more than \(bytes) bytes; name another file"
        case .unknownList: return "has an access control list of an unknown form; run setfacl -b on it"
        case .owner(let user):
            return "belongs to \(Self.name(ofUser: user)); run chown to give it to root or to this user"
        case .link(let name, let user):
            let owner = Self.name(ofUser: user)
            return "lies behind the symbolic link '\(name)' of \(owner); make it one of root or of this user"
        case .directory(let name, let error):
            return "lies below the directory \(name), which \(error.explanation)"
        case .readable(.others): return "can be read by everybody; run chmod o= on it"
        case .readable(.group(let group)):
            let name = Self.name(ofGroup: group)
            return "can be read by the group \(name); run chmod g= on it, or name the group as one that may"
        case .readable(.user(let user)):
            return "can be read by \(Self.name(ofUser: user)) (access control list); run setfacl -b on it"
        case .changeable(.others): return "can be changed by everybody; run chmod o-w on it"
        case .changeable(.group(let group)):
            return "can be changed by the group \(Self.name(ofGroup: group)); run chmod g-w on it"
        case .changeable(.user(let user)):
            return "can be changed by \(Self.name(ofUser: user)) (access control list); run setfacl -b on it"
        }
    }

    private static func name(ofUser identifier: UInt32) -> String {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard unsafe getpwuid_r(identifier, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil
        else { return "user \(identifier)" }
        return unsafe "user \(String(cString: entry.pw_name))"
    }

    private static func name(ofGroup identifier: UInt32) -> String {
        var entry = unsafe group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard unsafe getgrgid_r(identifier, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil
        else { return String(identifier) }
        return unsafe String(cString: entry.gr_name)
    }
}
