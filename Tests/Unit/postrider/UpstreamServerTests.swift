import PostriderOptions
import Testing

@testable import PostriderCommands
@testable import PostriderRelay
@testable import postrider

@Suite("The options of a relay that passes requests on")
struct UpstreamServerTests {
    private static func bench(_ arguments: [String]) throws -> TestBench? {
        try DevBench.make(try DevCommand.table.parse(arguments))
    }

    @Test(
        "are refused where they contradict each other",
        arguments: [
            (["--upstream-ca", "x"], "--upstream-ca goes with --upstream; give both"),
            (["--upstream-name", "x"], "--upstream-name goes with --upstream; give both"),
            (
                ["--upstream", "unix:/run/x"],
                "--upstream must be a host and a port such as relay.example.net:2197, not 'unix:/run/x'"
            ),
            (
                ["--upstream", "push.test:2197", "--any-token"],
                "--any-token is for requests that this relay answers; with --upstream the other server does"
            ),
            (
                ["--upstream", "push.test:2197", "--capture", "false"],
                "--upstream needs captures; leave --capture out"
            ),
        ])
    func mistakes(_ arguments: [String], _ sentence: String) {
        let error = #expect(throws: UsageError.self) { try Self.bench(arguments) }
        #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
    }

    @Test("name a server; without them the relay answers itself")
    func server() throws {
        #expect(try Self.bench(["--upstream", "push.test:2197"])?.upstream?.place == "push.test:2197")
        let own = try #require(try Self.bench([]))
        #expect(own.upstream == nil)
        let unreadable = #expect(throws: CommandFailure.self) {
            try Self.bench(["--upstream", "push.test:2197", "--upstream-ca", "/nowhere/authority.pem"])
        }
        #expect(unreadable?.sentence.contains("/nowhere/authority.pem") == true)
    }
}
