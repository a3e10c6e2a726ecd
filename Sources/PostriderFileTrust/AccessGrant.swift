internal import Glibc

/// The access of a user or group other than a file's owner.
struct AccessGrant {
    let holder: AccessHolder
    /// The permissions as in a mode: 4 read, 2 write, 1 execute.
    let bits: UInt32

    var mayRead: Bool { bits & 4 != 0 }
    var mayWrite: Bool { bits & 2 != 0 }
    var mayExecute: Bool { bits & 1 != 0 }

    /// The grants of a mode, for a file without an access control list.
    static func list(ofMode mode: UInt32, group: UInt32) -> [AccessGrant] {
        [
            AccessGrant(holder: .others, bits: mode & 7),
            AccessGrant(holder: .group(group), bits: mode >> 3 & 7),
        ]
    }

    /// Reads the extended attribute `system.posix_acl_access` (acl(5), `linux/posix_acl_xattr.h`): the version 2 in
    /// four bytes, then entries of a tag and permissions in two bytes each and an identifier in four bytes,
    /// little-endian.
    ///
    /// - Returns: nil if the attribute does not have this form.
    static func list(ofAttribute bytes: [UInt8], group: UInt32) -> [AccessGrant]? {
        guard bytes.count >= 4, bytes.count % 8 == 4, number(bytes[0..<4]) == 2 else { return nil }
        let entries = stride(from: 4, to: bytes.count, by: 8).map { start in
            (
                tag: number(bytes[start..<start + 2]), bits: number(bytes[start + 2..<start + 4]),
                identifier: number(bytes[start + 4..<start + 8])
            )
        }
        // The mask limits every entry except those of the owner and of others.
        let mask = entries.first { $0.tag == 0x10 }?.bits ?? 7
        return entries.compactMap { entry in
            switch entry.tag {
            case 0x02: AccessGrant(holder: .user(entry.identifier), bits: entry.bits & mask)
            case 0x04: AccessGrant(holder: .group(group), bits: entry.bits & mask)
            case 0x08: AccessGrant(holder: .group(entry.identifier), bits: entry.bits & mask)
            case 0x20: AccessGrant(holder: .others, bits: entry.bits)
            default: nil
            }
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
