import Agent
import Courier
import DBus
import Options
import Testing
import Transport

@testable import postrider

@Suite("Settings of the agent")
struct AgentSettingsTests {
    private let needed = ["--relay", "relay.example.org:5223", "--state", "state"]

    private func settings(
        _ arguments: [String], environment: [String: String] = [:], files: [String: String] = [:]
    ) throws -> AgentSettings {
        let options = try AgentCommand.table.parse(arguments)
        return try AgentSettings(options: options, environment: environment) { files[$0] }
    }

    @Test("are read from options, environment and file, in this order")
    func places() throws {
        let file = """
            relay: file.example.org:1
            state: file
            socket: file.sock
            apps: [{topic: com.example.a, user: 7}]
            """
        let found = try settings(
            ["--config", "agent.yaml", "--relay", "option.example.org:2"],
            environment: ["POSTRIDER_RELAY": "environment.example.org:3", "POSTRIDER_STATE": "environment"],
            files: ["agent.yaml": file])
        #expect(found.agent.relay.description == "option.example.org:2")
        #expect(found.agent.stateDirectory == "environment")
        #expect(found.agent.socketPath == "file.sock")
        #expect(found.agent.apps == ["com.example.a": 7])
    }

    @Test("take the enrolment key from a file or the environment")
    func key() throws {
        #expect(try settings(needed).agent.enrolmentKey == nil)
        #expect(try settings(needed, environment: ["POSTRIDER_ENROLMENT_KEY": "k"]).agent.enrolmentKey == "k")
        let fromFile = try settings(needed + ["--enrolment-key-file", "key"], files: ["key": "enrol-1\n"])
        #expect(fromFile.agent.enrolmentKey == "enrol-1")
    }

    @Test("take a key in the environment before one in a file, unless an option names that")
    func keys() throws {
        let files = ["agent.yaml": "enrolment-key-file: key", "key": "enrol-1"]
        let environment = ["POSTRIDER_ENROLMENT_KEY": "k"]
        let byFile = try settings(
            needed + ["--config", "agent.yaml"], environment: environment, files: files)
        #expect(byFile.agent.enrolmentKey == "k")
        let byOption = try settings(
            needed + ["--enrolment-key-file", "key"], environment: environment, files: files)
        #expect(byOption.agent.enrolmentKey == "enrol-1")
    }

    @Test("do without a file of the enrolment key that is not there: a device needs it once")
    func absentKey() throws {
        let found = try settings(needed + ["--enrolment-key-file", "key"])
        #expect(found.agent.enrolmentKey == nil)
        #expect(found.agent.absentKeyFile == "key")
    }

    @Test("take an empty variable for none, that of the file and that of the key as well")
    func empty() throws {
        let names = ["POSTRIDER_AGENT_CONFIG", "POSTRIDER_ENROLMENT_KEY", "POSTRIDER_RELAY"]
        let found = try settings(
            needed, environment: Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
        #expect(found.agent.enrolmentKey == nil)
        #expect(found.agent.relay.description == "relay.example.org:5223")
    }

    @Test("say what apps are told that ask to notify; nobody has decided, if they do not")
    func notifications() throws {
        #expect(try settings(needed).agent.authorization == .notDetermined)
        #expect(try settings(needed + ["--notifications", "allow"]).agent.authorization == .authorized)
        #expect(try settings(needed + ["--notifications", "deny"]).agent.authorization == .denied)
    }

    @Test("say on which desktop alerts are shown; that of the agent's own session, if they do not")
    func sessionBus() throws {
        let own = ["XDG_RUNTIME_DIR": "/run/user/7"]
        #expect(try settings(needed).agent.sessionBus == nil)
        #expect(
            try settings(needed, environment: own).agent.sessionBus?.description
                == "unix:path=/run/user/7/bus")
        #expect(try settings(needed + ["--session-bus", "off"], environment: own).agent.sessionBus == nil)
        #expect(
            try settings(needed + ["--session-bus", "unix:path=/b"]).agent.sessionBus?.description
                == "unix:path=/b")
    }

    @Test(
        "are refused where they are wrong, or missing",
        arguments: [
            [], ["--relay", "nowhere", "--state", "s"], ["--relay", "localhost:1"],
            ["--relay", "localhost:1", "--state", "s", "--keepalive-seconds", "1"],
            ["--relay", "localhost:1", "--state", "s", "--log-level", "loud"],
            ["--relay", "localhost:1", "--state", "s", "--notifications", "maybe"],
            ["--relay", "localhost:1", "--state", "s", "--delivery-attempts", "0"],
            ["--relay", "localhost:1", "--state", "s", "--session-bus", "tcp:host=localhost"],
        ])
    func mistakes(arguments: [String]) {
        #expect(throws: UsageError.self) { try settings(arguments) }
    }

    @Test(
        "are refused where the file is wrong",
        arguments: [
            "relais: x", "apps: [{topic: com.example.a}]", "apps: [{topic: not a topic, user: 1}]",
            "apps: [{topic: com.example.a, user: 1}, {topic: com.example.a, user: 2}]",
            "apps: [{topic: com.example.a, user: no such user}]",
        ])
    func mistakesInFile(text: String) {
        #expect(throws: CommandFailure.self) {
            try settings(needed + ["--config", "agent.yaml"], files: ["agent.yaml": text])
        }
    }
}
