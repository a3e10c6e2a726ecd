import Foundation
import Glibc
import PostriderAgent
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("A look at the machine")
struct DoctorTests {
    /// A machine without a fault: its kernel's settings are in a folder of the test, its certificate is valid.
    final class Fixture {
        let folder = DevFolder.fresh()
        var machine = Machine()
        var relay: RelayConfiguration
        var names = ["localhost"]
        var dataDirectory: String { folder.path + "/data" }

        init() throws {
            _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
            relay = RelayConfiguration(
                providerAddresses: [try SocketAddress("127.0.0.1:0")],
                deviceAddresses: [try SocketAddress("127.0.0.1:0")],
                controlAddress: try SocketAddress(unixPath: folder.controlSocket),
                certificateChainFile: folder.certificateFile, privateKeyFile: folder.privateKeyFile,
                shards: 2, user: geteuid())
            machine.kernel = folder.path + "/kernel"
            machine.descriptors = 65_536
            machine.isClockSynchronised = true
            machine.syncMilliseconds = { directory in
                _ = try MachineFacts.syncMilliseconds(in: directory)
                return 3
            }
            machine.fileSystem = { _ in
                MachineFacts.FileSystem(freeBytes: 10 << 30, freeFiles: 1000, isRemote: false)
            }
            try set("net/core/somaxconn", 4096)
            try set("net/netfilter/nf_conntrack_max", 262_144)
            try FileManager.default.createDirectory(
                atPath: dataDirectory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }

        deinit { folder.remove() }

        func set(_ name: String, _ value: Int) throws {
            let path = URL(filePath: machine.kernel + "/" + name)
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try "\(value)\n".write(to: path, atomically: false, encoding: .utf8)
        }

        func change(_ mode: Int, of path: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        func ofRelay() async -> [Finding] {
            await machine.findings(
                ofRelay: relay, store: StorePlace(dataDirectory: dataDirectory), names: names,
                isRunning: false)
        }

        func ofAgent(at relay: String, trust: String) async throws -> [Finding] {
            var agent = AgentConfiguration(
                relays: [try Destination(relay)], stateDirectory: dataDirectory,
                socketPath: folder.path + "/agent.sock", name: "device", version: "test/1")
            agent.trustFile = trust
            return await machine.findings(ofAgent: agent)
        }
    }

    /// A fault, how it is planted, and the first finding's place and words.
    struct Fault: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let place: String
        let words: String
        let plant: @Sendable (Fixture) throws -> Void

        init(
            _ name: String, _ place: String, _ words: String,
            _ plant: @escaping @Sendable (Fixture) throws -> Void
        ) {
            (testDescription, self.place, self.words, self.plant) = (name, place, words, plant)
        }
    }

    @Test("finds nothing wrong with a good one, and leaves nothing in the data directory")
    func good() async throws {
        let fixture = try Fixture()
        #expect(await fixture.ofRelay() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.dataDirectory) == [])
    }

    private static let relayFaults: [Fault] = [
        Fault("few descriptors", "nofile", "may have 64 files open") { $0.machine.descriptors = 64 },
        Fault("a clock at 1970", "clock", "1970-01-01T00:00:07Z") { $0.machine.now = 7 },
        Fault("a clock that nothing synchronises", "clock", "nothing synchronises") {
            $0.machine.isClockSynchronised = false
        },
        Fault("a full disk", "data", "has 3 MiB left") {
            $0.machine.fileSystem = { _ in
                MachineFacts.FileSystem(freeBytes: 3 << 20, freeFiles: 1000, isRemote: false)
            }
        },
        Fault("a disk without inodes", "data", "no inode left") {
            $0.machine.fileSystem = { _ in
                MachineFacts.FileSystem(freeBytes: 10 << 30, freeFiles: 0, isRemote: false)
            }
        },
        Fault("a disk of another machine", "data", "file system of another machine") {
            $0.machine.fileSystem = { _ in
                MachineFacts.FileSystem(freeBytes: 10 << 30, freeFiles: nil, isRemote: true)
            }
        },
        Fault("a slow disk", "data", "needs 240 ms to sync") { $0.machine.syncMilliseconds = { _ in 240 } },
        Fault("a directory that others may write to", "data", "mode 0777") {
            try $0.change(0o777, of: $0.dataDirectory)
        },
        Fault("a directory that others may look into", "data", "mode 0755") {
            try $0.change(0o755, of: $0.dataDirectory)
        },
        Fault("a file in place of the directory", "data", "not a directory") {
            try FileManager.default.removeItem(atPath: $0.dataDirectory)
            try "x".write(toFile: $0.dataDirectory, atomically: false, encoding: .utf8)
        },
        Fault("a directory of another user", "data", "belongs to user") { $0.machine.user = 4711 },
        Fault("an address of another machine", "192.0.2.1:2197", "192.0.2.1:2197") {
            $0.relay.providerAddresses = [try SocketAddress("192.0.2.1:2197")]
        },
        Fault("a name without an address", "nowhere.invalid", "nowhere.invalid") {
            $0.names = ["nowhere.invalid"]
        },
        Fault("a certificate that has expired", "relay.pem", "has expired") {
            $0.machine.now += 20 * 366 * 86_400
        },
        Fault("a key that others can read", "relay.pem", "relay.key") {
            try $0.change(0o644, of: $0.folder.privateKeyFile)
        },
        Fault("a short queue of connections", "sysctl net.core.somaxconn", "128") {
            try $0.set("net/core/somaxconn", 128)
        },
        Fault("a firewall that follows few connections", "sysctl net.netfilter.nf_conntrack_max", "8192") {
            try $0.set("net/netfilter/nf_conntrack_max", 8192)
        },
    ]

    @Test("names the one fault of a relay's machine", arguments: relayFaults)
    func relay(_ fault: Fault) async throws {
        let fixture = try Fixture()
        try fault.plant(fixture)
        let findings = await fixture.ofRelay()
        #expect(findings.count == 1, "\(findings)")
        let first = try #require(findings.first)
        #expect(first.place.hasSuffix(fault.place) && first.problem.contains(fault.words), "\(first)")
        #expect(!first.remedy.isEmpty && !first.line.contains(".."))
    }

    @Test("names failures before warnings")
    func order() async throws {
        let fixture = try Fixture()
        try fixture.set("net/core/somaxconn", 128)
        fixture.machine.isClockSynchronised = false
        fixture.names = ["nowhere.invalid"]
        let findings = await fixture.ofRelay()
        #expect(findings.map(\.severity) == [.failure, .warning, .warning])
    }

    @Test("names a port that another program uses, and does not mind that of the relay that runs")
    func port() async throws {
        let fixture = try Fixture()
        let loop = try EventLoop()
        let other = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in nil }
        fixture.relay.deviceAddresses = [other.address]
        let findings = await fixture.ofRelay()
        #expect(findings.map(\.place) == ["\(other.address)"] && findings.first?.severity == .failure)
        let running = await fixture.machine.findings(
            ofRelay: fixture.relay, store: StorePlace(dataDirectory: fixture.dataDirectory), names: [],
            isRunning: true)
        #expect(running == [])
        withExtendedLifetime(other) {}
    }

    @Test("names a store's file of another user")
    func stray() async throws {
        guard geteuid() == 0 else { return }
        let fixture = try Fixture()
        let path = fixture.dataDirectory + "/queue.sqlite"
        try "".write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.ownerAccountID: 4711], ofItemAtPath: path)
        let findings = await fixture.ofRelay()
        #expect(findings.map(\.place) == [path])
    }

    @Test("of a device tries the way to its relay: the name, the port, the chain, the certificate's name")
    func agent() async throws {
        let fixture = try Fixture()
        let authority = fixture.folder.authorityFile
        let relay = try await Relay.start(fixture.relay, log: .none, openStore: { MemoryStore() })
        let port = try #require(relay.deviceAddresses.first?.port)
        #expect(try await fixture.ofAgent(at: "localhost:\(port)", trust: authority) == [])

        let unknown = try await fixture.ofAgent(at: "relay.invalid:\(port)", trust: authority)
        #expect(unknown.map(\.place) == ["relay.invalid"])

        let other = try Fixture()
        let untrusted = try await fixture.ofAgent(at: "localhost:\(port)", trust: other.folder.authorityFile)
        #expect(untrusted.map(\.place) == ["localhost:\(port)"])
        #expect(untrusted.first?.problem.contains("certificate") == true, "\(untrusted)")

        let misnamed = try await fixture.ofAgent(at: "127.0.0.2:\(port)", trust: authority)
        #expect(misnamed.map(\.place) == ["127.0.0.2:\(port)"], "\(misnamed)")
        let absent = try await fixture.ofAgent(at: "localhost:\(port)", trust: "/nowhere/ca.pem")
        #expect(absent.map(\.place) == ["/nowhere/ca.pem"])

        await relay.stop()
        let refused = try await fixture.ofAgent(at: "127.0.0.1:\(port)", trust: authority)
        #expect(refused.first?.problem.contains("refused") == true, "\(refused)")
    }

    @Test("takes the hosts of callbacks from their URLs, each once")
    func hosts() {
        #expect(
            DoctorCommand.hosts("https://a.example/x, https://b.example:8443/, https://a.example/y") == [
                "a.example", "b.example",
            ])
        #expect(DoctorCommand.hosts(nil) == [])
    }
}
