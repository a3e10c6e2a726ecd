import Foundation
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Settings")
struct SettingsTests {
    static let complete = ["--certificate", "c", "--private-key", "k", "--data-directory", "d"]

    static func settings(
        _ arguments: [String] = complete, _ environment: [String: String] = [:],
        files: [String: String] = [:]
    ) throws -> Settings {
        try Settings(options: ServeCommand.table.parse(arguments), environment: environment) { files[$0] }
    }

    @Test("come from an option first, then from the environment, then from the file")
    func precedence() throws {
        let file = ["f": "shards: 3\nlog-level: debug\n"]
        let fromFile = try Self.settings(Self.complete + ["-c", "f"], files: file)
        #expect(fromFile[.shards] == "3" && fromFile[.logLevel] == "debug")
        let environment = ["POSTRIDER_SHARDS": "4", "POSTRIDER_CONFIG": "f"]
        let fromEnvironment = try Self.settings(Self.complete, environment, files: file)
        #expect(fromEnvironment[.shards] == "4" && fromEnvironment[.logLevel] == "debug")
        let fromOption = try Self.settings(Self.complete + ["--shards", "5"], environment, files: file)
        #expect(fromOption[.shards] == "5")
    }

    @Test("that nobody has set have values that do for most")
    func usualValues() throws {
        let settings = try Self.settings().forRelay()
        #expect(settings.relay.providerAddresses.map(\.description) == ["0.0.0.0:2197"])
        #expect(settings.relay.developmentProviderAddresses.isEmpty)
        #expect(settings.relay.deviceAddresses.map(\.description) == ["0.0.0.0:5223"])
        #expect(settings.relay.fidelity == APNsCompatibility())
        #expect(settings.relay.providerIdleSeconds == 3600)
        #expect(settings.relay.traceSample == 1)
        #expect(settings.relay.controlAddress.description == "unix:d/control.sock")
        #expect(settings.relay.shards == Settings.usualShards)
        #expect(settings.logLevel == .info)
    }

    @Test(
        "say whether pushes are traced, and how many of them",
        arguments: [
            (["--trace", "true"], 1), (["--trace", "false"], nil), (["--trace-sample", "100"], 100),
            (["--trace", "false", "--trace-sample", "100"], nil),
        ] as [([String], Int?)])
    func trace(_ options: [String], _ sample: Int?) throws {
        #expect(try Self.settings(Self.complete + options).forRelay().relay.traceSample == sample)
        #expect(try Self.settings(Self.complete + options).forRelay().relay.traceMebibytes == 256)
        let small = Self.complete + ["--trace-mebibytes", "32"]
        #expect(try Self.settings(small).forRelay().relay.traceMebibytes == 32)
        for wrong in [
            ["--trace-mebibytes", "31"], ["--trace", "yes"], ["--trace-sample", "0"],
            ["--trace-sample", "1000001"],
        ] {
            #expect(throws: UsageError.self) { try Self.settings(Self.complete + wrong).forRelay() }
        }
    }

    @Test("say where spans go, and of which pushes")
    func spans() throws {
        #expect(try Self.settings().forRelay().spans == nil)
        let endpoint = ["--otlp-endpoint", "http://127.0.0.1:4318"]
        let spans = try #require(try Self.settings(Self.complete + endpoint).forRelay().spans)
        #expect(spans.endpoint == "http://127.0.0.1:4318" && spans.sample == nil)
        let sample = Self.complete + endpoint + ["--otlp-sample", "100"]
        #expect(try Self.settings(sample).forRelay().spans?.sample == 100)
        for wrong in [
            ["--otlp-sample", "100"], ["--otlp-endpoint", "x"], ["--otlp-endpoint", "http://a/?b"],
            endpoint + ["--otlp-sample", "0"],
        ] {
            #expect(throws: (any Error).self) { try Self.settings(Self.complete + wrong).forRelay() }
        }
    }

    @Test("say where the development environment is, how long to wait, and how closely to keep to Apple")
    func fidelity() throws {
        let file = """
            development-provider-address: 127.0.0.1:0
            provider-idle-seconds: 5
            strictness: strict
            storage: latest
            spellings: live
            stream-limit-ramp: true
            """
        var relay = try Self.settings(Self.complete + ["-c", "f"], files: ["f": file]).forRelay().relay
        #expect(relay.developmentProviderAddresses.map(\.description) == ["127.0.0.1:0"])
        #expect(relay.providerIdleSeconds == 5)
        #expect(relay.fidelity == .apple)
        let lenient = Self.complete + ["-c", "f", "--strictness", "lenient", "--stream-limit-ramp", "false"]
        relay = try Self.settings(lenient, files: ["f": file]).forRelay().relay
        #expect(!relay.fidelity.isStrict && !relay.fidelity.rampsStreamLimit)
        #expect(relay.fidelity.usesLiveSpellings && relay.fidelity.storage == .latest)
    }

    @Test("say whose code decodes header blocks and carries device links")
    func protocolCode() throws {
        #expect(try Self.settings().forRelay().relay.protocolCode == ProtocolCode())
        let library = ["--request-headers", "nghttp2", "--device-links", "nghttp2"]
        #expect(try Self.settings(Self.complete + library).forRelay().relay.protocolCode == .nghttp2)
        let own = ["f": "request-headers: own\ndevice-links: lean\n"]
        let relay = try Self.settings(Self.complete + ["-c", "f"], files: own).forRelay().relay
        #expect(relay.protocolCode == ProtocolCode())
        for wrong in [["--request-headers", "lean"], ["--device-links", "own"]] {
            #expect(throws: UsageError.self) { try Self.settings(Self.complete + wrong).forRelay() }
        }
    }

    @Test("say how many pushes a device token takes, and when it expires")
    func deviceTokens() throws {
        var relay = try Self.settings().forRelay().relay
        #expect(relay.pushesPerSecond == 1000 && relay.deviceExpiryDays == nil)
        #expect(relay.deviceFetches == Limits.fetches.usual)
        let set =
            Self.complete + [
                "--pushes-per-second", "0", "--device-expiry-days", "30", "--device-fetches", "9",
            ]
        relay = try Self.settings(set).forRelay().relay
        #expect(relay.pushesPerSecond == nil && relay.deviceExpiryDays == 30 && relay.deviceFetches == 9)
        #expect(throws: (any Error).self) {
            try Self.settings(Self.complete + ["--device-expiry-days", "0"]).forRelay()
        }
    }

    @Test("of fidelity are options of postrider dev too, and change what --apple says")
    func devFidelity() throws {
        func fidelity(_ arguments: String...) throws -> APNsCompatibility {
            try DevCommand.fidelity(DevCommand.table.parse(arguments))
        }
        #expect(try fidelity() == APNsCompatibility())
        #expect(try fidelity("--apple") == .apple)
        var expected = APNsCompatibility.apple
        expected.storage = .queue
        #expect(try fidelity("--storage", "queue", "--apple") == expected)
        let error = #expect(throws: UsageError.self) { try fidelity("--spellings", "old") }
        #expect(
            error?.description
                == "postrider dev: --spellings must be one of documented, live, not 'old'")
    }

    @Test("that are empty in the environment are not set")
    func emptyVariable() throws {
        #expect(try Self.settings(Self.complete, ["POSTRIDER_SHARDS": ""])[.shards] == nil)
    }

    @Test("are read from the usual file when it is there and nobody names one")
    func usualFile() throws {
        let settings = try Self.settings(files: [Settings.usualFile: "shards: 7"])
        #expect(settings[.shards] == "7" && settings.file == Settings.usualFile)
        #expect(try Self.settings().file == nil)
    }

    @Test(
        "that are wrong are told with their place and what to do",
        arguments: [
            (
                ["--shards", "x"], [:], "",
                "postrider serve: --shards must be a whole number from 1 to 256, not 'x'"
            ),
            (
                [], ["POSTRIDER_SHARDS": "0"], "",
                "POSTRIDER_SHARDS must be a whole number from 1 to 256, not '0'"
            ),
            ([], [:], "\nshards: 257", "f:2:9: 'shards' must be a whole number from 1 to 256, not '257'"),
            ([], [:], "shard: 2", "f:1:1: 'shard' is not a setting; did you mean 'shards'?"),
            ([], [:], "shards: [2]", "f:1:9: 'shards' must be one value, not a list"),
            (
                [], [:], "provider-address: example.org:1",
                "f:1:19: 'provider-address' must be addresses with ports such as 0.0.0.0:2197, "
                    + "[2001:db8::1]:2197, *:2197 or localhost:2197, with commas between, not 'example.org:1'"
            ),
            (
                ["--device-address", "unix:/x"], [:], "",
                "postrider serve: --device-address must be addresses with ports such as 0.0.0.0:2197, "
                    + "[2001:db8::1]:2197, *:2197 or localhost:2197, with commas between, not 'unix:/x'"
            ),
            (
                ["--provider-address", "0.0.0.0:5223"], [:], "",
                "device-address is 0.0.0.0:5223 like provider-address; choose another port"
            ),
            (
                ["--development-provider-address", "0.0.0.0:2197"], [:], "",
                "postrider serve: --development-provider-address is 0.0.0.0:2197 like provider-address; "
                    + "choose another port"
            ),
            (
                ["--device-address", "[::1]:1"], [:], "development-provider-address: '[::1]:1'",
                "postrider serve: --device-address is [::1]:1 like development-provider-address; choose "
                    + "another port"
            ),
            (
                [], ["POSTRIDER_STORAGE": "all"], "",
                "POSTRIDER_STORAGE must be one of queue, latest, not 'all'"
            ),
            (
                [], [:], "provider-idle-seconds: 0",
                "f:1:24: 'provider-idle-seconds' must be a whole number from 1 to 604800, not '0'"
            ),
            (
                [], ["POSTRIDER_CONTROL_ADDRESS": "/run/x.sock"], "",
                "POSTRIDER_CONTROL_ADDRESS must be unix: and the path of a socket, 107 bytes at most, "
                    + "not '/run/x.sock'"
            ),
            (
                [], ["POSTRIDER_LOG_LEVEL": "loud"], "",
                "POSTRIDER_LOG_LEVEL must be one of error, warning, notice, info, debug, not 'loud'"
            ),
        ] as [([String], [String: String], String, String)]
    )
    func mistakes(
        _ arguments: [String], _ environment: [String: String], _ file: String, _ sentence: String
    ) {
        let error = #expect(throws: (any Error).self) {
            try Self.settings(Self.complete + ["-c", "f"] + arguments, environment, files: ["f": file])
                .forRelay()
        }
        #expect(error.map { "\($0)" } == sentence)
    }

    @Test("that have changed, and that a reload does not take on, are told")
    func unheeded() throws {
        func texts(_ file: String) throws -> SettingTexts<Setting> {
            try Self.settings(["-c", "f", "--trace", "true"], files: ["f": file]).texts
        }
        let start = try texts("certificate: a\nshards: 3\ntrace: true")
        let same = try texts("shards: 3\ncertificate: b\nlog-level: debug\nstrictness: strict\ntrace: false")
        #expect(same.unheeded(since: start) == "")
        let one = try texts("certificate: a\nshards: 4")
        #expect(one.unheeded(since: start) == "; shards has changed, which counts from the next start on")
        let two = try texts("capture: true")
        #expect(
            two.unheeded(since: start)
                == "; shards, capture have changed, which counts from the next start on")
    }

    @Test("that are missing are asked for by all their names")
    func missing() {
        let error = #expect(throws: CommandFailure.self) { try Self.settings([]).forRelay() }
        #expect(
            error?.sentence
                == "certificate is not set: give --certificate, POSTRIDER_CERTIFICATE or "
                + "a configuration file."
        )
        #expect(error?.exitCode == 2)
        let inFile = #expect(throws: CommandFailure.self) {
            try Self.settings(["-c", "f"], files: ["f": ""]).forRelay()
        }
        #expect(inFile?.sentence.hasSuffix("or a line 'certificate: …' in f.") == true)
        #expect(inFile?.exitCode == 2)
    }

    @Test("cannot come from a file that is not there")
    func missingFile() {
        let error = #expect(throws: CommandFailure.self) { try Self.settings(["--config", "none.yaml"]) }
        #expect(
            error?.sentence
                == "The configuration file none.yaml is not there; give the path of one that is, or none.")
    }

    @Test("are all in the example and in the documentation, and the example is right")
    func example() throws {
        let example = try text("deploy/postrider.yaml")
        let documentation = try text("docs/operate/configuration.md")
        for setting in Setting.allCases {
            #expect(example.contains("\(setting.rawValue): "), "deploy/postrider.yaml")
            #expect(documentation.contains("`\(setting.rawValue)`"), "docs/operate/configuration.md")
        }
        let settings = try Self.settings(["-c", "f"], files: ["f": example]).forRelay()
        #expect(settings.store.dataDirectory == "/var/lib/postrider" && settings.store.database == nil)
        let complete = example.replacing("# shards: 4", with: "shards: 4")
        #expect(try Self.settings(["-c", "f"], files: ["f": complete]).forRelay().relay.shards == 4)
    }

    private func text(_ path: String) throws -> String {
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
