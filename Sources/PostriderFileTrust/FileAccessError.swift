internal import Glibc

/// Why a file is not relied on.
public indirect enum FileAccessError: Error, Equatable {
    /// The kernel does not let this process open or read it: its error number.
    case system(Int32)
    /// It is a directory, a pipe or a device.
    case notRegular
    /// Nobody may execute it.
    case notExecutable
    /// It is longer than so many bytes.
    case tooLong(Int)
    /// It has an access control list of an unknown form.
    case unknownList
    /// It belongs to this user, who may not own it.
    case owner(UInt32)
    /// A symbolic link of this name, on the way to it, belongs to this user, who may not own the file.
    case link(String, owner: UInt32)
    /// Somebody could put another file in its place, for what is said of this directory on the way to it.
    case directory(String, FileAccessError)
    /// Somebody may read it who may not know what is in it.
    case readable(by: AccessHolder)
    /// Somebody may change it besides its owner.
    case changeable(by: AccessHolder)

    /// Whether there is no such file.
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
