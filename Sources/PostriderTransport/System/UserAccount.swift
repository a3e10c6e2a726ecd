internal import Glibc

/// The users of this machine, as the system's directories name them.
public enum UserAccount {
    /// The user whose process this is.
    public static var own: UInt32 { getuid() }

    /// The identifier of a user: by name, or the number itself; nil where there is nobody of that name.
    public static func identifier(of user: String) -> UInt32? {
        if let number = UInt32(user) { return number }
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard unsafe getpwnam_r(user, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe entry.pw_uid
    }

    /// The number of a group: by name, or the number itself; nil where there is none of that name.
    public static func group(of name: String) -> UInt32? {
        if let number = UInt32(name) { return number }
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe entry.gr_gid
    }

    /// What a process of a user needs to know of it; nil where there is no such user.
    public static func entry(of identifier: UInt32) -> (name: String, group: UInt32, home: String)? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard unsafe getpwuid_r(identifier, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil
        else { return nil }
        return unsafe (
            String(cString: entry.pw_name), entry.pw_gid, String(cString: entry.pw_dir)
        )
    }
}
