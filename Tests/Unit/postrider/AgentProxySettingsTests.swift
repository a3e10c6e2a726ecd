import PostriderAgent
import PostriderOptions
import PostriderProxies
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("The proxy in the settings of the agent")
struct AgentProxySettingsTests {
    private func proxy(
        _ settings: [String], environment: [String: String] = [:], relay: String = "relay.example.org:5223"
    ) throws -> Proxy? {
        let options = try AgentCommand.table.parse(["--relay", relay, "--state", "state"] + settings)
        return try AgentSettings(
            options: options, environment: environment,
            readSecret: { path in
                guard path == "password" else { throw CommandFailure("The file \(path) is not there.") }
                return "open sesame\n"
            }, readFile: { _ in nil }
        ).agent.proxy
    }

    @Test("is none unless one is named, whatever the environment says to others")
    func none() throws {
        let others = [
            "HTTPS_PROXY": "http://proxy:1", "https_proxy": "http://proxy:1", "ALL_PROXY": "socks5://p:1",
        ]
        #expect(try proxy([], environment: others) == nil)
        #expect(try proxy(["--proxy", "off"]) == nil)
        #expect(try proxy(["--proxy", "off"], environment: ["POSTRIDER_PROXY": "http://proxy:1"]) == nil)
    }

    @Test("is read from its address")
    func forms() throws {
        let name = try #require(try proxy(["--proxy", "http://proxy.example.org:3128"]))
        #expect(name == Proxy(.http, at: try Destination("proxy.example.org:3128"), as: nil))
        #expect(name.description == "http://proxy.example.org:3128")
        let address = try proxy([], environment: ["POSTRIDER_PROXY": "socks5://[::1]:1080/"])
        #expect(address == Proxy(.socks5, at: try Destination("[::1]:1080"), as: nil))
    }

    @Test("has a user in its address and the password in a file, and shows neither")
    func credentials() throws {
        let proxy = try #require(
            try proxy(["--proxy", "http://DOMAIN%5Cfleet@proxy:3128", "--proxy-password-file", "password"]))
        #expect(proxy.credentials == ProxyCredentials(user: "DOMAIN\\fleet", password: "open sesame"))
        #expect(proxy.description == "http://proxy:3128")
    }

    @Test(
        "that is wrong is told without what may be a password",
        arguments: [
            "proxy:3128", "http://proxy", "https://proxy:3128", "socks4://proxy:1080", "http://proxy:0",
            "http://proxy:70000", "http://proxy:3128/path", "http://proxy:3128?x", "http://:3128", "",
            "http://user:secret@proxy", "http://pro xy:1", "on",
        ])
    func mistakes(_ text: String) {
        let error = #expect(throws: (any Error).self) { try proxy(["--proxy", text]) }
        let sentence =
            "postrider-agent: --proxy must be off, or a proxy such as http://proxy.example.org:3128, "
            + "http://user@proxy.example.org:3128 or socks5://proxy.example.org:1080"
        #expect(error.map { "\($0)" } == sentence)
    }

    @Test(
        "says what is missing",
        arguments: [
            (
                ["--proxy", "http://u:secret@proxy:1"],
                "--proxy has a password in it, which others could read: put it into a file, and name that in "
                    + "proxy-password-file"
            ),
            (
                ["--proxy", "http://u@proxy:1"],
                "--proxy names a user, whose password belongs into a file: name that in proxy-password-file"
            ),
            (
                ["--proxy", "http://proxy:1", "--proxy-password-file", "password"],
                "--proxy-password-file needs a user in 'proxy', such as http://user@proxy.example.org:3128"
            ),
            (
                ["--proxy-password-file", "password"],
                "--proxy-password-file is of no use without 'proxy': name one there, or leave it out"
            ),
            (
                ["--proxy", "http://a%3Ab@proxy:1", "--proxy-password-file", "password"],
                "--proxy-password-file must be a file with one line, the password of 1 to 255 bytes, and the "
                    + "user in 'proxy' must have 1 to 255 bytes without a colon"
            ),
        ])
    func incomplete(_ settings: [String], _ sentence: String) {
        let error = #expect(throws: (any Error).self) { try proxy(settings) }
        #expect(error.map { "\($0)" } == "postrider-agent: " + sentence)
    }

    @Test("needs a password's file that is there")
    func absentFile() {
        #expect(throws: CommandFailure.self) {
            try proxy(["--proxy", "http://u@proxy:1", "--proxy-password-file", "nowhere"])
        }
    }

    @Test("does not go with a relay on a link of this machine")
    func link() {
        let error = #expect(throws: (any Error).self) {
            try proxy(["--proxy", "http://proxy:1"], relay: "[fe80::1%lo]:5223")
        }
        #expect(error.map { "\($0)" }?.contains("names an interface of this machine") == true)
    }
}
