import Foundation
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTLS
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Settings of addresses, groups and the environment")
struct SettingFormsTests {
    private static let complete = ["--certificate", "c", "--private-key", "k", "--data-directory", "d"]

    private static func settings(
        _ arguments: [String] = complete, _ environment: [String: String] = [:],
        files: [String: String] = [:]
    ) throws -> Settings {
        try Settings(options: ServeCommand.table.parse(arguments), environment: environment) { files[$0] }
    }

    @Test("of addresses are lists, in YAML as well", .bug(id: "R10"))
    func addresses() throws {
        let file = """
            provider-address: [127.0.0.1:2197, "[::1]:2197"]
            device-address: 127.0.0.1:0, 127.0.0.2:0
            """
        let relay = try Self.settings(Self.complete + ["-c", "f"], files: ["f": file]).forRelay().relay
        #expect(relay.providerAddresses.map(\.description) == ["127.0.0.1:2197", "[::1]:2197"])
        #expect(relay.deviceAddresses.map(\.description) == ["127.0.0.1:0", "127.0.0.2:0"])
        let clash =
            Self.complete + [
                "--provider-address", "127.0.0.1:1", "--device-address", "127.0.0.2:1,127.0.0.1:1",
            ]
        let error = #expect(throws: UsageError.self) { try Self.settings(clash).forRelay() }
        #expect(error?.description.contains("is 127.0.0.1:1 like provider-address") == true)
    }

    @Test("name the groups that may read the key, by name or number", .bug(id: "R8"))
    func groups() throws {
        let set = Self.complete + ["--private-key-group", "root, 4711"]
        #expect(try Self.settings(set).forRelay().relay.privateKeyReaders == [0, 4711])
        #expect(try Self.settings().forRelay().relay.privateKeyReaders.isEmpty)
        #expect(throws: UsageError.self) {
            try Self.settings(Self.complete + ["--private-key-group", "no-such-group"]).forRelay()
        }
    }

    @Test("give quotas to teams and topics, in YAML a list, and each at most once")
    func quotas() throws {
        let file = "quotas: [team=T1 pending=5, topic=* devices=2 payload-bytes=100]"
        let relay = try Self.settings(Self.complete + ["-c", "f"], files: ["f": file]).forRelay().relay
        #expect(relay.quotas == ["team=T1 pending=5", "topic=* devices=2 payload-bytes=100"].map(Quota.init))
        let option = Self.complete + ["--quotas", "team=T1 pending=5,team=T2 devices=3"]
        #expect(try Self.settings(option).forRelay().relay.quotas.count == 2)
        #expect(try Self.settings().forRelay().relay.quotas.isEmpty)
        for text in ["team=T1 pending=5, team=T1 devices=1", "team=T1", "T1 pending=3"] {
            let error = #expect(throws: UsageError.self) {
                try Self.settings(Self.complete + ["--quotas", text]).forRelay()
            }
            #expect(error?.description.contains("--quotas must be at most 100 quotas") == true)
        }
    }

    @Test("choose who protects the records of TLS")
    func records() throws {
        #expect(try Self.settings().forRelay().relay.tlsRecords == .own)
        let set = Self.complete + ["--tls-records", "openssl"]
        #expect(try Self.settings(set).forRelay().relay.tlsRecords == .openssl)
        let error = #expect(throws: UsageError.self) {
            try Self.settings(Self.complete + ["--tls-records", "kernel"]).forRelay()
        }
        #expect(
            error?.description.contains("--tls-records must be one of own, openssl") == true
                || error?.description.contains("--tls-records must be own or openssl") == true)
    }

    @Test("whose variable is misspelt are refused, and the right one is named", .bug(id: "R16"))
    func misspelt() throws {
        let failure = #expect(throws: CommandFailure.self) {
            try Self.settings(Self.complete, ["POSTRIDER_SHARD": "4"])
        }
        #expect(
            failure
                == CommandFailure(
                    "POSTRIDER_SHARD in the environment is not a setting; did you mean POSTRIDER_SHARDS?",
                    exitCode: 2))
        // Other programs set variables with this prefix, such as Kubernetes beside a service of this name; the relay
        // ignores them.
        let others = [
            "POSTRIDER_SERVICE_HOST": "10.0.0.1", "POSTRIDER_PORT": "tcp://10.0.0.1:2197",
            "POSTRIDER_PORT_2197_TCP_ADDR": "10.0.0.1", "POSTRIDER_AGENT_SOCKET": "/s",
            "POSTRIDER_RELAY": "a:1",
        ]
        _ = try Self.settings(Self.complete, others)
    }

    @Test("in a file that is not UTF-8 are the user's own mistake, with its line", .bug(id: "R16"))
    func encoding() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("shards: 1\n# Gr\u{f6}\u{df}e\n".unicodeScalars.map { UInt8($0.value) }).write(to: file)
        let failure = #expect(throws: CommandFailure.self) { try FileText.readIfThere(file.path) }
        #expect(failure?.exitCode == 2)
        #expect(failure?.sentence.hasPrefix("\(file.path):2: this line is not UTF-8") == true)
    }

    @Test(
        "stand beside units that start a service again for as long as it takes", .bug(id: "R11"),
        arguments: ["postrider", "postrider-agent"])
    func units(_ name: String) throws {
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        let text = try String(contentsOf: root.appending(path: "deploy/\(name).service"), encoding: .utf8)
        var section = ""
        var lines: [String: String] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { section = String(line) }
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { lines["\(section)\(parts[0])"] = String(parts[1]) }
        }
        // With a start limit, an address that comes late would end the service for good.
        #expect(lines["[Unit]StartLimitIntervalSec"] == "0")
        #expect(lines["[Service]Restart"] == "on-failure")
        #expect(lines["[Service]RestartPreventExitStatus"] == "2")
        let pause = try #require(lines["[Service]RestartSec"].flatMap { Int($0) })
        #expect((1...10).contains(pause), "neither a storm of starts nor a long silence")
        // Expirations depend on the clock, which must be right when the relay starts.
        let after = try #require(lines["[Unit]After"]).split(separator: " ")
        #expect(after.contains("time-sync.target") == (name == "postrider"))
    }
}
