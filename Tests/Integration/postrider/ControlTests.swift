import Foundation
import Glibc
import PostriderCrypto
import PostriderEvidence
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderStorage
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The operator's commands")
struct ControlTests {
    /// Runs a relay with its own folder for one test.
    static func withRelay(
        holding changes: [RegistryChange] = [],
        trace openTrace: (@Sendable () throws(StoreError) -> any TraceStore)? = nil,
        signer: EvidenceSigner? = nil, audit: (@Sendable (OperatorChange) -> Void)? = nil,
        _ body: (ControlClient, DevFolder) async throws -> Void
    ) async throws {
        let folder = DevFolder.fresh()
        defer { folder.remove() }
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        let control = try SocketAddress(unixPath: folder.controlSocket)
        var configuration = RelayConfiguration(
            providerAddresses: [try SocketAddress("127.0.0.1:0")],
            deviceAddresses: [try SocketAddress("127.0.0.1:0")],
            controlAddress: control, certificateChainFile: folder.certificateFile,
            privateKeyFile: folder.privateKeyFile, shards: 2, user: geteuid())
        configuration.signer = signer
        configuration.audit = audit
        let relay = try await Relay.start(
            configuration, log: .none,
            openStore: {
                let store = MemoryStore()
                store.apply(changes) { _ in }
                return store
            }, openTrace: openTrace)
        try await body(ControlClient(address: control), folder)
        await relay.stop()
    }

    private func run(_ words: String..., on client: ControlClient) async -> Int32 {
        await Self.run(words, on: client)
    }

    /// Runs a command against the relay and returns its exit code.
    static func run(_ words: [String], on client: ControlClient) async -> Int32 {
        await Commands.program.run(words + ["--control", "\(client.address)"])
    }

    @Test("add, list and remove keys, and send no private key")
    func keys() async throws {
        try await Self.withRelay { client, folder in
            let file = folder.providerKeyFile
            #expect(await run("keys", "add", file, "--team-id", "TEAM", on: client) == 0)
            #expect(await run("keys", "add", file, "--team-id", "TEAM", "--key-id", "K2", on: client) == 0)
            let (keys, _) = try await client.list("/v1/keys", of: [Control.ProviderKey].self)
            #expect(keys.map(\.identifier) == [DevFolder.keyIdentifier, "K2"])
            #expect(keys.map(\.team) == ["TEAM", "TEAM"])
            #expect(await run("keys", "remove", "K2", on: client) == 0)
            #expect(await run("keys", "remove", "K2", on: client) == 1)
            #expect(await run("keys", "list", on: client) == 0)
            #expect(await run("keys", "add", file, on: client) == 2)
            #expect(
                await run(
                    "keys", "add", folder.certificateFile, "--team-id", "T", "--key-id", "K", on: client) == 1
            )
        }
    }

    @Test("have HEAD answered without a body")
    func head() async throws {
        try await Self.withRelay { client, _ in
            let refusal = await #expect(throws: CommandFailure.self) {
                try await client.request("HEAD", "/v1/status")
            }
            #expect(refusal?.sentence.hasSuffix("answered 404 and did not say why.") == true)
        }
    }

    @Test("copy the store, and tell in one sentence where it cannot be copied")
    func backup() async throws {
        try await Self.withRelay { client, folder in
            // The store of this relay is in memory.
            #expect(await run("backup", folder.path + "/copy", on: client) == 1)
            #expect(await run("backup", on: client) == 2)
            await #expect(throws: CommandFailure.self) {
                try await client.request("PUT", "/v1/backup", body: Array(#"{"directory":"relative"}"#.utf8))
            }
            #expect(await Commands.program.run(["backup", "--help"]) == 0)
        }
    }

    @Test("add, list and remove topics")
    func topics() async throws {
        try await Self.withRelay { client, _ in
            #expect(await run("topics", "add", "com.example.app", "--team-id", "TEAM", on: client) == 0)
            let (topics, _) = try await client.list("/v1/topics", of: [Control.Topic].self)
            #expect(topics.map(\.topic) == ["com.example.app"])
            #expect(await run("topics", "remove", "com.example.app", on: client) == 0)
            #expect(await run("topics", "remove", "com.example.app", on: client) == 1)
            #expect(await run("topics", "add", "no/topic", "--team-id", "TEAM", on: client) == 2)
            #expect(await run("topics", "list", "--json", on: client) == 0)
        }
    }

    @Test("make an enrolment key once; a name that is taken is refused")
    func enrolmentKeys() async throws {
        try await Self.withRelay { client, _ in
            #expect(await run("enrolment-keys", "add", "batch", on: client) == 0)
            let error = await #expect(throws: CommandFailure.self) {
                _ = try await client.request("PUT", "/v1/enrolment-keys/batch")
            }
            #expect(error?.sentence.hasPrefix("There is an enrolment key batch already") == true)
            #expect(await run("enrolment-keys", "list", on: client) == 0)
            #expect(await run("enrolment-keys", "remove", "batch", on: client) == 0)
            let (keys, _) = try await client.list("/v1/enrolment-keys", of: [Control.EnrolmentKey].self)
            #expect(keys.isEmpty)
        }
    }

    @Test("show devices and what the relay is doing")
    func status() async throws {
        try await Self.withRelay { client, _ in
            #expect(await run("devices", "list", on: client) == 0)
            #expect(await run("devices", "remove", "0123456789abcdef01234567", on: client) == 1)
            #expect(await run("devices", "remove", "device", on: client) == 1)
            #expect(await run("status", on: client) == 0)
            let (status, _) = try await client.list("/v1/status", of: Control.Status.self)
            #expect(status.shards == 2 && status.counters.isBalanced)
            #expect(status.countersOfShards.map(\.isBalanced) == [true, true])
            #expect(StatusCommand.exitCode(status) == 0)
            #expect(!StatusCommand.describe(status).contains("ALARM"))
            var wrong = status
            wrong.countersOfShards[1].isBalanced = false
            #expect(StatusCommand.exitCode(wrong) == 3)
            #expect(StatusCommand.describe(wrong).contains("ALARM: the counters of shard 1 do not balance."))
        }
    }

    @Test("say so when no relay answers")
    func absent() async throws {
        let client = ControlClient(address: try SocketAddress("unix:/nowhere/control.sock"))
        let error = await #expect(throws: CommandFailure.self) {
            _ = try await client.request("GET", "/v1/status")
        }
        #expect(error?.sentence.hasPrefix("No relay answers at unix:/nowhere/control.sock (") == true)
        #expect(await run("status", on: client) == 1)
    }

    @Test(
        "find the relay by what is nearest",
        arguments: [
            (["--control", "unix:/a"], ["POSTRIDER_CONTROL_ADDRESS": "unix:/b"], true, "unix:/a"),
            ([], ["POSTRIDER_CONTROL_ADDRESS": "unix:/b"], true, "unix:/b"),
            (["-c", "named"], [:], true, "unix:/n/control.sock"),
            ([], [:], true, "unix:/dev-folder/control.sock"),
            ([], ["POSTRIDER_LOG_LEVEL": "debug"], true, "unix:/dev-folder/control.sock"),
            ([], [:], false, "unix:/usual"),
        ] as [([String], [String: String], Bool, String)]
    )
    func finding(
        _ arguments: [String], _ environment: [String: String], _ isDev: Bool, _ address: String
    ) throws {
        let files = ["named": "data-directory: /n", Settings.usualFile: "control-address: unix:/usual"]
        let found = try ControlAddress.find(
            StatusCommand.table.parse(arguments), environment: environment,
            devFolder: isDev ? DevFolder("/dev-folder") : nil, readFile: { files[$0] })
        #expect(found.description == address)
    }

    @Test("ask for the socket where no relay is known")
    func unknown() throws {
        let options = try StatusCommand.table.parse([])
        #expect(throws: UsageError.self) {
            try ControlAddress.find(options, environment: [:], devFolder: nil, readFile: { _ in nil })
        }
    }

    @Test("print lists in columns, without what a terminal would obey")
    func columns() {
        #expect(
            Listing.columns(["A", "B"], [["long", "\u{1B}[2Jx"], ["", "y"]])
                == "A     B\nlong  ?[2Jx\n      y")
    }

    @Test("name and tag devices, and say in one sentence what cannot be")
    func labels() async throws {
        let devices = (1...3).map { number in
            RegistryChange.putDevice(
                DeviceRecord(
                    identity: DeviceIdentity(high: number, low: 1),
                    secretDigest: [UInt8](repeating: 7, count: 32),
                    name: "kiosk", enrolledAt: Moment(milliseconds: Int64(number))))
        }
        try await Self.withRelay(holding: devices) { client, _ in
            #expect(await run("devices", "rename", "kiosk-2", "lobby.west", on: client) == 0)
            #expect(await run("devices", "rename", "kiosk-3", "Lobby.West", on: client) == 1)
            #expect(await run("devices", "rename", "kiosk-3", "a_b", on: client) == 2)
            #expect(await run("devices", "rename", "nobody", "x", on: client) == 1)
            #expect(await run("devices", "tag", "lobby.west", "lobby", "berlin", on: client) == 0)
            #expect(await run("devices", "tag", "kiosk", "a/b", on: client) == 2)
            #expect(await run("devices", "tag", "kiosk", on: client) == 2)
            #expect(await run("devices", "untag", "lobby.west", "berlin", on: client) == 0)
            let (tagged, _) = try await client.list("/v1/devices?tag=lobby", of: [Control.Device].self)
            #expect(tagged.map(\.name) == ["lobby.west"] && tagged.map(\.tags) == [["lobby"]])
            #expect(await run("devices", "list", "--tag", "lobby", on: client) == 0)
            #expect(await run("devices", "list", "--tag", "a b", on: client) == 2)
            #expect(await run("devices", "list", "--limit", "1", on: client) == 0)
            #expect(await run("devices", "list", "--limit", "0", on: client) == 2)
            let (first, _) = try await client.list("/v1/devices?sort=name&limit=1", of: [Control.Device].self)
            #expect(first.map(\.name) == ["kiosk"])
            #expect(await run("devices", "remove", "kiosk", on: client) == 0)
            let (left, _) = try await client.list("/v1/devices?sort=name", of: [Control.Device].self)
            #expect(left.map(\.name) == ["kiosk", "lobby.west"])
            #expect(await run("devices", "remove", "kiosk-3", on: client) == 1)
        }
    }

    @Test("give enrolment keys tags")
    func keyTags() async throws {
        try await Self.withRelay { client, _ in
            #expect(
                await run("enrolment-keys", "add", "lobby", "--tag", "lobby", "--tag", "kiosk", on: client)
                    == 0)
            #expect(await run("enrolment-keys", "add", "other", "--tag", "a b", on: client) == 2)
            let (keys, _) = try await client.list("/v1/enrolment-keys", of: [Control.EnrolmentKey].self)
            #expect(keys.map(\.tags) == [["kiosk", "lobby"]])
            #expect(await run("enrolment-keys", "list", on: client) == 0)
        }
    }

    @Test("push to groups on the control socket, and say in one sentence who is not there")
    func groups() async throws {
        try await Self.withRelay { client, _ in
            func send(_ words: String...) async -> Int32 {
                await Self.run(["send", "--alert", "x"] + words, on: client)
            }
            #expect(await send("--device", "nobody", "--topic", "com.example.a") == 1)
            #expect(await send("--tag", "lobby", "--topic", "com.example.a") == 1)
            #expect(await send("--all", "--topic", "com.example.a") == 1)
            #expect(await send("--all") == 2)
            #expect(await send("--tag", "a b", "--topic", "com.example.a") == 2)
            #expect(await send("--all", "--tag", "lobby", "--topic", "com.example.a") == 2)
            #expect(await send("--tag", "lobby", "--topic", "com.example.a", "5f5f") == 2)
            // No relay has made this token.
            #expect(await send("--topic", "com.example.a", String(repeating: "5f", count: 32)) == 1)
        }
    }

    @Test(
        "list devices by how long they have been away, and say what is wrong with how that is said",
        arguments: [
            (["--offline-for", "5m"], 0), (["--offline-for", "3d", "--sort", "since"], 0),
            (["--connected"], 0),
            (["--away", "--json"], 0), (["--offline-for", "soon"], 2), (["--offline-for", "-1"], 2),
            (["--connected", "--away"], 2), (["--sort", "size"], 2),
            (["--offline-for", "99999999999999999999d"], 2),
        ] as [([String], Int32)])
    func deviceSelection(_ words: [String], _ code: Int32) async throws {
        try await Self.withRelay { client, _ in
            #expect(await Self.run(["devices", "list"] + words, on: client) == code)
        }
    }

    @Test("list as many devices as there are: an answer of several MiB comes whole")
    func manyDevices() async throws {
        let name = String(repeating: "d", count: Limits.courierTextBytes)
        let devices = (1...12_000).map { number in
            RegistryChange.putDevice(
                DeviceRecord(
                    identity: DeviceIdentity(high: UInt64(number), low: 1),
                    secretDigest: [UInt8](repeating: 7, count: 32), name: name,
                    enrolledAt: Moment(milliseconds: Int64(number))))
        }
        try await Self.withRelay(holding: devices) { client, _ in
            let (listed, text) = try await client.list("/v1/devices", of: [Control.Device].self)
            #expect(text.utf8.count > 3 << 20)
            #expect(listed.count == devices.count && listed.allSatisfy { $0.callsItself == name })
            #expect(Set(listed.map(\.name)).count == devices.count)
        }
    }
}
