internal import Glibc

/// The users of this machine, as the system's directories name them.
public enum UserAccount {
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
}
