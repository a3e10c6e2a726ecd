internal import Glibc

/// The users and groups of this machine, as its user database has them (getpwnam(3)).
public enum UserAccount {
    /// The user that this process runs as.
    public static var own: UInt32 { getuid() }

    /// The number of a user that is given by name or by number; nil if there is no user of that name.
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

    /// The number of a group that is given by name or by number; nil if there is no group of that name.
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

    /// The name, group and home directory of a user; nil if there is no such user.
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
