import PostriderCluster
import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

/// The web ports of three nodes, with one shard each, and connections to them.
final class WebNodes {
    let fixture: NodesFixture
    let nodes: [FixtureNode]
    private let operators: [NodeOperator]
    private var lines: [WebClientConnection] = []

    init() throws {
        fixture = NodesFixture(authority: WebFixture.authority)
        MemoryStore(disk: fixture.database.disk).apply([.putEnrolmentKey(WebFixture.keyRecord)]) { _ in }
        nodes = try ["a", "b", "c"].map { [fixture] in try fixture.start($0, shards: 1) }
        operators = nodes.map(NodeOperator.init)
        wait(seconds: 15)
    }

    /// Lets everything happen that is under way.
    func run() { repeat { fixture.settle() } while lines.map({ $0.flush() }).contains(true) }

    func wait(seconds: Int) {
        for _ in 0..<seconds {
            fixture.wait(milliseconds: 1_000)
            for line in lines { line.look() }
            run()
        }
    }

    /// Ends a node, and waits until others have its partitions.
    func kill(_ node: FixtureNode) {
        node.kill()
        wait(seconds: 15)
    }

    /// The node that has the device of a browser.
    func home(of uaid: String?) throws -> FixtureNode {
        let device = try #require(uaid.flatMap { WebIdentity($0) }?.device)
        return try #require(nodes.first { $0.isAlive && $0.home(of: device) != nil })
    }

    /// A node that lives and is none of these.
    func other(than some: FixtureNode...) throws -> FixtureNode {
        try #require(nodes.first { node in node.isAlive && !some.contains { $0 === node } })
    }

    func open(at node: FixtureNode) -> WebClientConnection {
        let line = WebClientConnection(WebConnection(on: node.shards[0].web), "http/1.1")
        lines.append(line)
        return line
    }

    /// Connects a browser to a node and says hello.
    func connect(_ uaid: String = "", at node: FixtureNode) -> Browser {
        let browser = Browser(open(at: node), path: "/" + WebFixture.key)
        browser.say(#"{"messageType":"hello","uaid":"\#(uaid)","use_webpush":true}"#)
        run()
        return browser
    }

    /// Registers a channel for a browser and returns its URL.
    func register(_ browser: Browser, channel: String) throws -> String {
        browser.say(#"{"messageType":"register","channelID":"\#(channel)"}"#)
        run()
        let answer = try #require(browser.messages("register").last)
        return try #require(answer["pushEndpoint"] as? String, "\(answer)")
    }

    /// Makes a request at a node and returns the connection on which its answer comes.
    func request(
        _ method: String, _ url: String, _ fields: [String: String] = [:], _ body: String = "",
        at node: FixtureNode
    ) throws -> WebClientConnection {
        let line = open(at: node)
        try line.request(method, url, fields, Array(body.utf8))
        run()
        return line
    }

    /// Posts a message at a node.
    func post(
        _ body: String = "secret", to endpoint: String, _ fields: [String: String] = [:], at node: FixtureNode
    ) throws -> WebClientConnection {
        try request("POST", endpoint, WebClientConnection.usual.merging(fields) { $1 }, body, at: node)
    }

    /// A browser acknowledges the last message that it has.
    func acknowledge(_ browser: Browser) throws {
        try browser.acknowledge(try #require(browser.messages("notification").last))
        run()
    }
}
