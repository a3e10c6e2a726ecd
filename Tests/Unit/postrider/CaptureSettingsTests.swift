import PostriderOptions
import PostriderRelay
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Settings of captures")
struct CaptureSettingsTests {
    @Test("have requests captured, on a relay that listens to its own machine alone")
    func capture() throws {
        #expect(try SettingsTests.settings().forRelay().relay.bench == nil)
        let local =
            SettingsTests.complete + ["--provider-address", "127.0.0.1:0", "--device-address", "localhost:0"]
        #expect(try SettingsTests.settings(local + ["--capture", "true"]).forRelay().relay.bench != nil)
        #expect(try SettingsTests.settings(local + ["--capture", "false"]).forRelay().relay.bench == nil)
        for open in [
            ["--provider-address", "0.0.0.0:0", "--device-address", "localhost:0"],
            ["--provider-address", "127.0.0.1:0", "--device-address", "*:0"],
            local.suffix(4) + ["--development-provider-address", "192.0.2.1:0"],
        ] {
            let error = #expect(throws: UsageError.self) {
                try SettingsTests.settings(SettingsTests.complete + open + ["--capture", "true"]).forRelay()
            }
            #expect(error?.description.contains("--capture is for tests, and this relay listens at") == true)
        }
    }

    @Test("serve them over HTTP/1.1 where only this machine reaches the port, and only if they are kept")
    func address() throws {
        let local =
            SettingsTests.complete + [
                "--provider-address", "127.0.0.1:0", "--device-address", "[::1]:0", "--capture",
            ]
        let capturing = local + ["true"]
        func address(_ options: [String]) throws -> String? {
            try SettingsTests.settings(options).forRelay().captures?.description
        }
        #expect(try address(capturing) == nil)
        #expect(try address(capturing + ["--captures-address", "off"]) == nil)
        for good in ["127.0.0.1:2196", "[::1]:0"] {
            #expect(try address(capturing + ["--captures-address", good]) == good)
        }
        for wrong in ["0.0.0.0:2196", "192.0.2.1:2196", "unix:/run/captures", "127.0.0.1", "2196"] {
            let error = #expect(throws: UsageError.self) {
                try address(capturing + ["--captures-address", wrong])
            }
            #expect(
                error?.description.contains("--captures-address must be off, or an address of this machine")
                    == true)
        }
        let error = #expect(throws: UsageError.self) {
            try address(local + ["false", "--captures-address", "127.0.0.1:2196"])
        }
        #expect(error?.description.contains("--captures-address needs captures") == true)
    }
}
