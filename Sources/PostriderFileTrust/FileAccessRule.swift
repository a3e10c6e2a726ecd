internal import Glibc

/// Who may own, read and change a file that this process relies on.
///
/// A file is judged by who can read or change it, and not by its mode alone: `root:ssl-cert 0640` is as private as the
/// members of the group `ssl-cert` are, and an access control list (acl(5)) can give to one user what the mode
/// seems to give to a group. Symbolic links are followed, since certbot, Kubernetes and others lay files behind them;
/// each link must belong to somebody who may own the file, or its owner could lead this process elsewhere. For a file
/// that nobody may change the same holds of each directory on the way: who can change one can put another file there.
public struct FileAccessRule: Sendable {
    /// What nobody but the owners may do with the file.
    public enum Demand: Sendable {
        /// Read it or change it.
        case secret
        /// Change it, or put another in its place.
        case unchangeable
    }

    /// What the owners have for themselves.
    public let demand: Demand
    /// The users who may own the file, and each symbolic link on the way to it.
    public let owners: Set<UInt32>
    /// The groups whose members may read a secret.
    public let readers: Set<UInt32>

    /// A file that holds a secret of this process: it belongs to root or to the user of this process, and nobody else
    /// can read it but the members of root's group and of `groups`.
    public static func secret(readableBy groups: Set<UInt32> = []) -> FileAccessRule {
        FileAccessRule(demand: .secret, owners: [0, geteuid()], readers: groups.union([0]))
    }

    /// A file that says what this process is to do: it belongs to root or to `user`, and nobody else can change it or
    /// a directory on the way to it. A directory with the sticky bit may be everybody's, as `/tmp` is: in one, only
    /// its owner can exchange a file (inode(7)).
    public static func unchangeable(by user: UInt32) -> FileAccessRule {
        FileAccessRule(demand: .unchangeable, owners: [0, user], readers: [])
    }

    /// The same for a file that only the user of this process, and root, may change.
    public static var unchangeable: FileAccessRule { unchangeable(by: geteuid()) }

    /// Opens a regular file for reading, and judges it by what was opened, so that it cannot be exchanged in between.
    ///
    /// - Parameter path: relative paths start at the working directory.
    /// - Throws: ``FileAccessError``; nothing is left open then.
    public func open(_ path: String) throws(FileAccessError) -> OpenedFile {
        let file = try FileWalk(self).open(path, isRead: true)
        try judge(file)
        return file
    }

    /// Judges a program, which need not be readable to be started.
    ///
    /// - Parameter path: as of ``open(_:)``.
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

    /// Judges what lies on the way to a file: nobody but the owners can put another file in its place.
    ///
    /// - Throws: ``FileAccessError/directory(_:_:)``. What is no directory is for the kernel to refuse.
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

/// Who has access to a file besides its owner.
public enum AccessHolder: Sendable, Equatable {
    /// A user of this number, by an access control list.
    case user(UInt32)
    /// The members of the group of this number.
    case group(UInt32)
    /// Everybody.
    case others
}
