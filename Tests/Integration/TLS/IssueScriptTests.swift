import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport
import Testing

@Suite("certs/issue.sh") struct IssueScriptTests {
    let paper: Paper
    let folder: String

    init() throws {
        paper = try Paper()
        folder = paper.path("issued")
    }

    /// Runs the script, and returns its exit status and its output.
    private func run(_ arguments: [String]) throws -> (status: Int32, said: String) {
        let process = Process()
        let output = Pipe()
        var script = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { script.deleteLastPathComponent() }
        process.executableURL = script.appendingPathComponent("certs/issue.sh")
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said)
    }

    private func context(trust: String, client name: String) throws -> TLSContext {
        try TLSContext.client(
            trustFile: trust, alpn: ["h2"], certificateChainFile: "\(folder)/\(name).pem",
            privateKeyFile: "\(folder)/\(name).key")
    }

    @Test("What it issues is what the relay, a provider and a device need")
    func issues() throws {
        let arguments = [
            "--output", folder, "--topic", "org.example.chat", "--name", "10.1.2.3", "--name", "relay.test",
        ]
        let (status, said) = try run(arguments)
        #expect(status == 0, "\(said)")
        let trust = "\(folder)/authority.pem"
        let server = try TLSContext.server(
            certificateChainFile: "\(folder)/relay.pem", privateKeyFile: "\(folder)/relay.key", alpn: ["h2"],
            allowsMissingALPN: false, clientCertificates: .requested(trustFile: trust))
        for name in ["localhost", "127.0.0.1", "::1", "10.1.2.3", "relay.test"] {
            for (client, topic) in [("provider", "org.example.chat"), ("device", nil)] {
                let pair = try SocketPair(server, context(trust: trust, client: client), serverName: name)
                let outcome = pair.handshake()
                #expect(outcome.server == nil && outcome.client == nil)
                let shown = try #require(pair.server.peerCertificate)
                #expect(shown.isVerified)
                let details = try #require(CertificateDetails(der: shown.der))
                #expect(details.userIdentifier == topic)
                #expect(details.commonName == client)
                // PushExtensionsTests and the provider contract check the contents.
                let apples = details.extensions.map(\.identifier).filter {
                    $0.hasPrefix("1.2.840.113635.100.6.3.")
                }
                #expect(apples.count == (topic == nil ? 0 : 3))
                if let topic {
                    let bytes = Array((topic + ".complication").utf8)
                    #expect(details.extensions.contains { $0.der.contains(bytes) })
                }
            }
        }
    }

    @Test("It says how it is used, and never writes where something is")
    func refuses() throws {
        #expect(try run(["--help"]).said.hasPrefix("Usage: certs/issue.sh"))
        let (status, said) = try run(["--output", paper.folder.path])
        #expect(status == 2)
        #expect(said.contains("is not overwritten"))
    }

    @Test(
        "Arguments that are none are refused, and nothing is left behind",
        arguments: [
            ["--colour"], ["--days"], ["--days", "0"], ["--days", "soon"], ["--name", "a b"],
            ["--name", "a,DNS:b"], ["--name", "999.1.1.1"], ["--topic", "a/CN=b"],
        ])
    func badArguments(arguments: [String]) throws {
        #expect(try run(["--output", folder] + arguments).status == 2)
        let left = try FileManager.default.contentsOfDirectory(atPath: paper.folder.path)
        #expect(left == ["authority.pem"])
    }
}
