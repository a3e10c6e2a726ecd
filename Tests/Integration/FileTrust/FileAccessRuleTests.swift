import CPostriderFileAccess
import Foundation
import Testing

@testable import PostriderFileTrust

@Suite("Who can read or change a file")
struct FileAccessRuleTests {
    private let folder: URL
    private let own = geteuid()

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    @discardableResult
    private func write(_ name: String, mode: Int, _ text: String = "secret") throws -> String {
        let file = path(name)
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createDirectory(
            atPath: (path(name) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
    }

    private func group(of name: String) throws -> UInt32 {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        return try #require(attributes[.groupOwnerAccountID] as? NSNumber).uint32Value
    }

    /// Sets the access control list of a file, in Linux's little-endian form.
    private func set(
        _ entries: [(tag: UInt8, bits: UInt8, identifier: UInt32)], on file: String
    ) throws {
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            bytes += [entry.tag, 0, entry.bits, 0]
            for shift in stride(from: 0, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: entry.identifier >> shift))
            }
        }
        let result = unsafe setxattr(file, "system.posix_acl_access", bytes, bytes.count, 0)
        try #require(result == 0, "this file system has no access control lists")
    }

    /// Opens a file and returns its text, or the error.
    private func outcome(_ rule: FileAccessRule, _ name: String) -> Result<String, FileAccessError> {
        do throws(FileAccessError) {
            let file = try rule.open(name.hasPrefix("/") ? name : path(name))
            return .success(String(decoding: try file.read(atMost: 100), as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    @Test("Keys behind the links of certbot and of Kubernetes are read", .bug(id: "R8"))
    func links() throws {
        try write("archive/example.org/privkey1.pem", mode: 0o600, "certbot")
        try link("live/example.org/privkey.pem", to: "../../archive/example.org/privkey1.pem")
        #expect(outcome(.secret(), "live/example.org/privkey.pem") == .success("certbot"))
        try write("..2026_11_25/tls.key", mode: 0o400, "kubernetes")
        try link("..data", to: "..2026_11_25")
        try link("tls.key", to: "..data/tls.key")
        #expect(outcome(.secret(), "tls.key") == .success("kubernetes"))
        try link("absolute", to: path("tls.key"))
        #expect(outcome(.secret(), "absolute") == .success("kubernetes"))
    }

    @Test("A link of another user is not followed, though the file behind it is good", .bug(id: "R8"))
    func foreignLinks() throws {
        try write("key", mode: 0o600)
        try link("link", to: "key")
        let rule = FileAccessRule(demand: .secret, owners: [own + 1], readers: [])
        #expect(outcome(rule, "link") == .failure(.link("link", owner: own)))
        #expect(outcome(rule, "key") == .failure(.owner(own)))
    }

    @Test("Links in a circle end with the kernel's own error")
    func circle() throws {
        try link("a", to: "b")
        try link("b", to: "a")
        #expect(outcome(.secret(), "a") == .failure(.system(ELOOP)))
    }

    @Test("A secret may be read by root's group and by named groups, and by no other", .bug(id: "R8"))
    func groups() throws {
        try write("key", mode: 0o640)
        let group = try group(of: "key")
        func rule(_ readers: Set<UInt32>) -> FileAccessRule {
            FileAccessRule(demand: .secret, owners: [own], readers: readers)
        }
        #expect(outcome(rule([group]), "key") == .success("secret"))
        #expect(outcome(rule([]), "key") == .failure(.readable(by: .group(group))))
        #expect(FileAccessRule.secret(readableBy: [7]).readers == [0, 7])
    }

    @Test(
        "Nobody else may read or write a secret, nor may a group write one",
        arguments: [0o604, 0o602, 0o601, 0o660, 0o620])
    func secretModes(mode: Int) throws {
        try write("key", mode: mode)
        let group = try group(of: "key")
        let rule = FileAccessRule(demand: .secret, owners: [own], readers: [group])
        guard case .failure(let error) = outcome(rule, "key") else {
            Issue.record("mode \(String(mode, radix: 8)) was accepted")
            return
        }
        let isWrite = mode & 0o022 != 0
        let holder: AccessHolder = mode & 0o007 != 0 ? .others : .group(group)
        #expect(error == (isWrite ? .changeable(by: holder) : .readable(by: holder)))
    }

    @Test("What says what to do may be read by all and changed by nobody else", .bug(id: "A16"))
    func unchangeable() throws {
        try write("good", mode: 0o644)
        #expect(outcome(.unchangeable, "good") == .success("secret"))
        try write("world", mode: 0o666)
        #expect(outcome(.unchangeable, "world").isChangeable)
        try write("group", mode: 0o664)
        #expect(outcome(.unchangeable, "group").isChangeable)
    }

    private func makeDirectory(_ name: String, mode: Int) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    @Test("Nobody else can exchange a program by a directory on the way to it, unless that is sticky")
    func directories() throws {
        for (mode, isGood) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
            try write("apps/bin/program", mode: 0o755)
            try makeDirectory("apps", mode: mode)
            let program = path("apps/bin/program")
            guard !isGood else {
                #expect(throws: Never.self) { try FileAccessRule.unchangeable.checkProgram(program) }
                continue
            }
            let error = #expect(throws: FileAccessError.self) {
                try FileAccessRule.unchangeable.checkProgram(program)
            }
            guard case .directory(let place, .changeable) = error else {
                Issue.record("\(String(mode, radix: 8)): \(String(describing: error))")
                continue
            }
            #expect(place == path("apps"))
            #expect(error?.explanation.hasPrefix("lies below the directory \(place), which") == true)
            // The rule allows no other reader of a secret.
            try write("apps/bin/key", mode: 0o600)
            #expect(outcome(.secret(), "apps/bin/key") == .success("secret"))
        }
    }

    @Test("A program in the directory of another user is refused, also behind a link of its owner")
    func foreignDirectories() throws {
        try #require(own == 0, "only root can give a directory to another user")
        try write("theirs/bin/program", mode: 0o755)
        try write("ours/program", mode: 0o755)
        try link("link", to: "theirs/bin/program")
        let result = unsafe chown(path("theirs"), 4711, 4711)
        #expect(result == 0)
        let refusal = FileAccessError.directory(path("theirs"), .owner(4711))
        for name in ["theirs/bin/program", "link", "ours/../theirs/bin/program"] {
            #expect(throws: refusal) { try FileAccessRule.unchangeable.checkProgram(path(name)) }
        }
        #expect(throws: Never.self) {
            try FileAccessRule.unchangeable(by: 4711).checkProgram(path("theirs/bin/program"))
        }
        // The sticky bit does not restrict the owner of a directory.
        try makeDirectory("theirs", mode: 0o1777)
        #expect(throws: refusal) { try FileAccessRule.unchangeable.checkProgram(path("link")) }
    }

    @Test("A list that lets another user write into a directory is seen")
    func directoryLists() throws {
        try write("apps/program", mode: 0o755)
        try set(
            [(1, 7, nobody), (2, 7, 4711), (4, 5, nobody), (0x10, 7, nobody), (0x20, 5, nobody)],
            on: path("apps"))
        #expect(throws: FileAccessError.directory(path("apps"), .changeable(by: .user(4711)))) {
            try FileAccessRule.unchangeable.checkProgram(path("apps/program"))
        }
    }

    private let nobody = UInt32.max

    @Test("A credential of systemd is good: 0440, and a list that lets its user read", .bug(id: "R8"))
    func credential() throws {
        let file = try write("credential", mode: 0o440)
        try set(
            [
                (1, 4, nobody), (2, 4, own), (4, 0, nobody), (0x10, 4, nobody), (0x20, 0, nobody),
            ], on: file)
        let rule = FileAccessRule(demand: .secret, owners: [own], readers: [])
        #expect(outcome(rule, "credential") == .success("secret"))
    }

    @Test("A list that lets another user read a secret, or change a file, is seen", .bug(id: "R8"))
    func strangersInLists() throws {
        let file = try write("file", mode: 0o600)
        try set(
            [
                (1, 6, nobody), (2, 6, 4711), (4, 0, nobody), (0x10, 6, nobody), (0x20, 0, nobody),
            ], on: file)
        #expect(outcome(.unchangeable, "file") == .failure(.changeable(by: .user(4711))))
        // The mask removes the write permission.
        try set(
            [
                (1, 6, nobody), (2, 6, 4711), (4, 0, nobody), (0x10, 4, nobody), (0x20, 0, nobody),
            ], on: file)
        #expect(outcome(.unchangeable, "file") == .success("secret"))
        #expect(outcome(.secret(), "file") == .failure(.readable(by: .user(4711))))
    }

    @Test("A list that nobody understands is refused, and not taken for none", .bug(id: "R8"))
    func unknownLists() {
        #expect(AccessGrant.list(ofAttribute: [3, 0, 0, 0], group: 0) == nil)
        #expect(AccessGrant.list(ofAttribute: [2, 0, 0, 0, 1], group: 0) == nil)
        #expect(AccessGrant.list(ofAttribute: [2, 0, 0, 0], group: 0)?.isEmpty == true)
        #expect(FileAccessError.unknownList.explanation.contains("setfacl -b"))
    }

    @Test("A directory, a pipe, a missing file and a long one are told apart")
    func kinds() throws {
        #expect(outcome(.secret(), "") == .failure(.notRegular))
        let made = unsafe mkfifo(path("pipe"), 0o600)
        #expect(made == 0)
        #expect(outcome(.secret(), "pipe") == .failure(.notRegular))
        #expect(outcome(.secret(), "absent") == .failure(.system(ENOENT)))
        try write("long", mode: 0o600, String(repeating: "x", count: 101))
        #expect(outcome(.secret(), "long") == .failure(.tooLong(100)))
        #expect(FileAccessError.system(ENOENT).isMissing)
    }

    @Test("Each reason says what to do")
    func explanations() {
        #expect(FileAccessError.readable(by: .others).explanation.contains("chmod o="))
        #expect(FileAccessError.readable(by: .group(0)).explanation.contains("the group root"))
        #expect(FileAccessError.changeable(by: .user(4711)).explanation.contains("setfacl -b"))
        #expect(FileAccessError.owner(0).explanation.contains("belongs to user root"))
    }
}

extension Result<String, FileAccessError> {
    fileprivate var isChangeable: Bool {
        if case .failure(.changeable) = self { true } else { false }
    }
}
