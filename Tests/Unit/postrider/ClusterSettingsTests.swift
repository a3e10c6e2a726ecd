import PostriderCluster
import PostriderRelay
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The settings of a node")
struct ClusterSettingsTests {
    private static let store = ["--store", "postgresql://me@db/x"]
    private static let files = ["--cluster-certificate", "c", "--cluster-key", "k", "--cluster-trust", "t"]

    private static func cluster(_ more: [String]) throws -> RelayConfiguration.Cluster? {
        try SettingsTests.settings(SettingsTests.complete + more).forRelay().relay.cluster
    }

    @Test("make the relay a node only if cluster-address is set")
    func node() throws {
        #expect(try Self.cluster(Self.store + Self.files + ["--node-name", "a"]) == nil)
        let listening =
            Self.store + Self.files + ["--cluster-address", "192.0.2.1:2195", "--node-name", "a-1"]
        let node = try #require(try Self.cluster(listening))
        #expect(node.name.text == "a-1" && node.address.description == "192.0.2.1:2195")
        #expect(node.publicAddress == "192.0.2.1:2195" && node.lease == .usual)
        #expect([node.certificateChainFile, node.privateKeyFile, node.trustFile] == ["c", "k", "t"])
        let dialled =
            listening + ["--cluster-public-address", "a.example:9"]
        #expect(try Self.cluster(dialled)?.publicAddress == "a.example:9")
        let everywhere = ["--cluster-address", "[::]:2195", "--cluster-public-address", "[2001:db8::1]:9"]
        let anywhere = try Self.cluster(Self.store + Self.files + ["--node-name", "a"] + everywhere)
        #expect(anywhere?.publicAddress == "[2001:db8::1]:9")
    }

    @Test("take the host's name for the node's, in lower case, if it can be one")
    func host() {
        #expect(Settings.nodeName(ofHost: "Relay-1.Example.ORG")?.text == "relay-1.example.org")
        #expect(Settings.nodeName(ofHost: "relay_1") == nil)
    }

    @Test(
        "that are wrong are told with what to do",
        arguments: [
            (
                ["--cluster-address", "192.0.2.1:1"],
                "--cluster-address needs store, the PostgreSQL database that all nodes share; set "
                    + "both, or none"
            ),
            (
                ["--node-name", "A"],
                "--node-name must be 1 to 63 lower-case letters, digits, hyphens and dots, with a letter or "
                    + "digit first, not 'A'"
            ),
            (
                store + ["--cluster-address", "relay:2195"],
                "--cluster-address must be an address with a port, such as 192.0.2.1:2195 or "
                    + "0.0.0.0:2195, not 'relay:2195'"
            ),
            (
                store + ["--cluster-address", "192.0.2.1:0"],
                "--cluster-address must be an address with a port, such as 192.0.2.1:2195 or "
                    + "0.0.0.0:2195, not '192.0.2.1:0'"
            ),
            (
                ["--cluster-public-address", "unix:/x"],
                "--cluster-public-address must be a host or an address, and a port, such as "
                    + "relay-1.example:2195, not 'unix:/x'"
            ),
            (
                store + files + ["--node-name", "a", "--cluster-address", "0.0.0.0:2195"],
                "--cluster-address is 0.0.0.0:2195, which other nodes cannot dial; set "
                    + "cluster-public-address as well"
            ),
            (
                store + ["--node-name", "a", "--cluster-address", "192.0.2.1:2195"],
                "--cluster-address needs cluster-certificate, a file that 'postrider certificates make "
                    + "FOLDER --node a' makes"
            ),
            (
                store + files + [
                    "--node-name", "a", "--cluster-address", "192.0.2.1:2195", "--device-address",
                    "192.0.2.1:2195",
                ],
                "--cluster-address is 192.0.2.1:2195 like device-address; choose another port"
            ),
        ] as [([String], String)])
    func mistakes(_ options: [String], _ sentence: String) {
        let error = #expect(throws: (any Error).self) { try Self.cluster(options) }
        #expect(error.map { "\($0)" } == "postrider serve: " + sentence)
    }
}
