internal import Glibc

/// The rule that says who may own, read and change a file on which this process relies.
///
/// A file is judged by who can read or change it and not by its mode alone: `root:ssl-cert 0640` is as private as the
/// members of the group `ssl-cert` are, and an access control list (acl(5)) can grant to one user what the mode seems
/// to grant to a group. Symbolic links are followed, because certbot, Kubernetes and others use them; each link must
/// belong to a user who may own the file, because its owner can redirect it. For a file that must be unchangeable,
/// the same holds for each directory on the path, because whoever can change a directory can replace the file.
public struct FileAccessRule: Sendable {
    /// What users other than the owners must not be able to do.
    public enum Demand: Sendable {
        /// Read or change the file.
        case secret
        /// Change or replace the file.
        case unchangeable
    }

    /// What only the owners may do.
    public let demand: Demand
    /// The users who may own the file, and each symbolic link on the path to it.
    public let owners: Set<UInt32>
    /// The groups whose members may read a secret.
    public let readers: Set<UInt32>

    /// The rule for a file with a secret of this process: root or the user of this process must own it, and no other
    /// user may read it except members of root's group and of `groups`.
    public static func secret(readableBy groups: Set<UInt32> = []) -> FileAccessRule {
        FileAccessRule(demand: .secret, owners: [0, geteuid()], readers: groups.union([0]))
    }

    /// The rule for a file that controls what this process does: root or `user` must own it, and no other user may be
    /// able to change it or a directory on the path to it. A directory with the sticky bit may be writable to all,
    /// like `/tmp`, because only the owner of a file can replace it there (inode(7)).
    public static func unchangeable(by user: UInt32) -> FileAccessRule {
        FileAccessRule(demand: .unchangeable, owners: [0, user], readers: [])
    }

    /// The same rule for a file that only root and the user of this process may change.
    public static var unchangeable: FileAccessRule { unchangeable(by: geteuid()) }

    /// Opens a regular file for reading, and checks the opened file, so that it cannot be replaced in between.
    ///
    /// - Parameter path: a relative path starts at the working directory.
    /// - Throws: ``FileAccessError``; no descriptor stays open then.
    public func open(_ path: String) throws(FileAccessError) -> OpenedFile {
        let file = try FileWalk(self).open(path, isRead: true)
        try judge(file)
        return file
    }

    /// Checks a program, which need not be readable to be started.
    ///
    /// - Parameter path: a relative path starts at the working directory.
    /// - Throws: ``FileAccessError``.
    public func checkProgram(_ path: String) throws(FileAccessError) {
        let file = try FileWalk(self).open(path, isRead: false)
        try judge(file)
        guard file.status.st_mode & 0o111 != 0 else { throw .notExecutable }
    }

    private func judge(_ file: borrowing OpenedFile) throws(FileAccessError) {
        guard file.status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        try judgeAccess(to: file)
    }

    /// Checks a directory on the path to a file: only the owners may be able to replace a file in it.
    ///
    /// - Throws: ``FileAccessError/directory(_:_:)``. If it is not a directory, the kernel refuses the next step.
    func judgeDirectory(_ directory: borrowing OpenedFile) throws(FileAccessError) {
        let status = directory.status
        guard demand == .unchangeable, status.st_mode & S_IFMT == S_IFDIR else { return }
        do throws(FileAccessError) {
            guard status.st_mode & S_ISVTX == 0 else {
                guard owners.contains(status.st_uid) else { throw .owner(status.st_uid) }
                return
            }
            try judgeAccess(to: directory)
        } catch {
            throw .directory(directory.path, error)
        }
    }

    private func judgeAccess(to file: borrowing OpenedFile) throws(FileAccessError) {
        let status = file.status
        guard owners.contains(status.st_uid) else { throw .owner(status.st_uid) }
        for grant in try file.accessList() ?? AccessGrant.list(ofMode: status.st_mode, group: status.st_gid) {
            try judge(grant)
        }
    }

    private func judge(_ grant: AccessGrant) throws(FileAccessError) {
        let isOwner = if case .user(let user) = grant.holder { owners.contains(user) } else { false }
        guard !isOwner else { return }
        if grant.mayWrite { throw .changeable(by: grant.holder) }
        guard demand == .secret, grant.mayRead || grant.holder == .others && grant.mayExecute else { return }
        if case .group(let group) = grant.holder, readers.contains(group) { return }
        throw .readable(by: grant.holder)
    }
}

/// A user or group with access to a file, other than its owner.
public enum AccessHolder: Sendable, Equatable {
    /// The user with this number, by an access control list.
    case user(UInt32)
    /// The members of the group with this number.
    case group(UInt32)
    /// All users.
    case others
}
