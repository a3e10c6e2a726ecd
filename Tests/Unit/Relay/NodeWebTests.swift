import PostriderCluster
import PostriderDeviceQueue
import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("Web Push over several nodes")
struct NodeWebTests {
    private static let channel = "d9b74644-4f97-46aa-b8fa-9393985cd6cd"
    private let web: WebNodes

    init() throws { web = try WebNodes() }

    /// A browser at a node that is not its home, and the URL of its subscription.
    private func browserAtEdge() throws -> (browser: Browser, home: FixtureNode, endpoint: String) {
        let first = web.connect(at: web.nodes[0])
        let endpoint = try web.register(first, channel: Self.channel)
        let uaid = try #require(first.uaid)
        first.line.cut()
        web.run()
        let home = try web.home(of: uaid)
        let browser = web.connect(uaid, at: try web.other(than: home))
        #expect(browser.uaid == uaid)
        return (browser, home, endpoint)
    }

    @Test("lets a browser connect to any node, and a message to it enter at any")
    func life() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        #expect(try web.register(browser, channel: Self.channel) == endpoint)
        for (number, node) in web.nodes.enumerated() {
            let sender = try web.post("\(number)", to: endpoint, at: node)
            #expect(browser.contents == (0...number).map { "\($0)" })
            try web.acknowledge(browser)
            #expect(sender.status == 201)
            #expect(sender.field("location")?.hasPrefix("\(WebFixture.origin)/m/") == true)
        }
        #expect(web.nodes.reduce(0) { $0 + $1.shards[0].report.deviceConnections } == 1)
        #expect(home.shards[0].report.tally.isBalanced && home.shards[0].report.tally.delivered == 3)
        browser.line.cut()
        web.run()
        let device = try #require(browser.uaid.flatMap { WebIdentity($0) }?.device)
        #expect(home.entry(of: device)?.session == nil)
    }

    @Test("replaces a browser's connection at one node by a newer one at another")
    func replaced() throws {
        let (browser, home, _) = try browserAtEdge()
        let again = web.connect(try #require(browser.uaid), at: home)
        #expect(again.uaid == browser.uaid && browser.closeCode == 1008)
        let third = web.connect(try #require(browser.uaid), at: try web.other(than: home))
        #expect(third.uaid == browser.uaid && again.closeCode == 1008)
    }

    @Test("gives a browser with a wrong secret a new identity at the node of its home")
    func stranger() throws {
        let (browser, home, _) = try browserAtEdge()
        let uaid = try #require(browser.uaid)
        let wrong = uaid.dropLast() + (uaid.hasSuffix("0") ? "1" : "0")
        let other = web.connect(String(wrong), at: try web.other(than: home))
        let given = try #require(other.uaid)
        #expect(given != uaid && given != String(wrong))
        #expect(try web.home(of: given) === home)
        #expect(browser.line.closed == nil)
        let endpoint = try web.register(other, channel: Self.channel)
        _ = try web.post("a", to: endpoint, at: home)
        #expect(other.contents == ["a"] && browser.contents.isEmpty)
    }

    @Test("keeps messages and subscriptions when the home dies, and sends the browser away from its edge")
    func takeOver() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        browser.line.cut()
        web.run()
        let stored = try web.post("stored", to: endpoint, at: try web.other(than: home))
        #expect(stored.status == 201)
        let uaid = try #require(browser.uaid)
        let waiting = web.connect(uaid, at: try web.other(than: home))
        #expect(waiting.contents == ["stored"])
        web.kill(home)
        #expect(waiting.closeCode == 1013)
        let heir = try web.home(of: uaid)
        let again = web.connect(uaid, at: try web.other(than: home, heir))
        #expect(again.uaid == uaid && again.contents == ["stored"])
        try web.acknowledge(again)
        #expect(try web.register(again, channel: Self.channel) == endpoint)
        let sender = try web.post("new", to: endpoint, at: heir)
        try web.acknowledge(again)
        #expect(sender.status == 201 && again.contents == ["stored", "new"])
        #expect(
            heir.shards[0].web.home.subscriptions.all(
                of: Self.channel, on: try #require(WebIdentity(uaid)).device
            ).count == 1)
    }

    @Test("answers 503 to a sender whose message was under way to a node that has died")
    func lost() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        let node = try web.other(than: home)
        let stored = try web.post("a", to: endpoint, at: node)
        // The browser does not acknowledge it.
        web.wait(seconds: 1)
        let location = try #require(stored.field("location"))
        home.pause()
        let senders = [
            try web.post("b", to: endpoint, at: node), try web.request("DELETE", location, at: node),
        ]
        #expect(senders.map(\.status) == [nil, nil])
        web.kill(home)
        #expect(senders.map(\.status) == [503, 503])
        #expect(senders.allSatisfy { $0.field("retry-after") != nil })
        #expect(browser.closeCode == 1013)
    }

    @Test("lets messages wait while their partition moves from a node that leaves")
    func moving() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        let node = try web.other(than: home)
        home.leave()
        var senders: [WebClientConnection] = []
        for number in 0..<30 {
            senders.append(try web.post("\(number)", to: endpoint, at: node))
            web.fixture.wait(milliseconds: 50)
        }
        web.wait(seconds: 15)
        #expect(Set(senders.map(\.status)) == [201])
        let uaid = try #require(browser.uaid)
        #expect(try web.home(of: uaid) !== home)
        #expect([1001, 1013].contains(browser.closeCode))
        let again = web.connect(uaid, at: node)
        var had: [String] = []
        while let last = again.contents.last, had.last != last {
            had.append(last)
            try web.acknowledge(again)
        }
        #expect(had == (0..<30).map { "\($0)" })
    }

    @Test("keeps a receipt with its message's partition, and tells it at any node after take-overs")
    func receipts() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        let node = try web.other(than: home)
        browser.line.cut()
        web.run()
        let low = try low(of: browser)
        let foreign = ReceiptSubscription(DeviceIdentity(high: 1, low: low ^ 1))
        let wanted = WebAddresses(origin: WebFixture.origin, codec: node.shards[0].context.codec).receipts(
            foreign)
        let sender = try web.post(
            "a", to: endpoint, ["Prefer": "respond-async", "Link": Self.link(to: wanted)], at: node)
        #expect(sender.status == 202)
        let link = try #require(sender.field("link"))
        let receipts = String(link.dropFirst().prefix { $0 != ">" })
        #expect(receipts != wanted)
        // The next message may have the same address, because it is in the partition of the device.
        let next = try web.post(
            "b", to: endpoint, ["Prefer": "respond-async", "Link": link], at: home)
        #expect(next.field("link") == link)
        web.kill(home)
        let again = web.connect(try #require(browser.uaid), at: node)
        let reader = try web.request("GET", receipts, at: try web.other(than: home))
        #expect(reader.status == nil)
        try web.acknowledge(again)
        let told = try ToldReceipt.all(in: reader)
        #expect(told.map(\.status) == [204])
        #expect(told.map(\.message) == [try #require(sender.field("location"))])
        let heir = try web.home(of: browser.uaid)
        try web.acknowledge(again)
        web.kill(heir)
        let last = try web.other(than: home, heir)
        let both = try ToldReceipt.all(in: try web.request("GET", receipts, at: last))
        #expect(both.map(\.status) == [204, 204])
        for receipt in both { #expect(try web.request("DELETE", receipt.receipt, at: last).status == 204) }
        #expect(try web.request("GET", receipts, ["Prefer": "wait=0"], at: last).status == 204)
        #expect(try MemoryStore(disk: web.fixture.database.disk).loadReceipts().isEmpty)
    }

    private static func link(to receipts: String) -> String {
        "<\(receipts)>; rel=\"urn:ietf:params:push:receipt\""
    }

    private func low(of browser: Browser) throws -> UInt32 {
        try #require(browser.uaid.flatMap { WebIdentity($0) }?.device.low)
    }

    @Test("cancels a message at any node")
    func cancel() throws {
        let (browser, home, endpoint) = try browserAtEdge()
        browser.line.cut()
        web.run()
        let node = try web.other(than: home)
        let location = try #require(try web.post("a", to: endpoint, at: node).field("location"))
        #expect(try web.request("DELETE", location, at: node).status == 204)
        #expect(try web.request("DELETE", location, at: home).status == 404)
        #expect(web.connect(try #require(browser.uaid), at: node).contents.isEmpty)
    }

    @Test("finds the device of a plain send at other nodes, and says 503 while one of them is silent")
    func plainSends() throws {
        let device = web.fixture.devices[0]
        let home = try #require(web.nodes.first { $0.home(of: device) != nil })
        let node = try web.other(than: home)
        func send(to name: String) throws -> WebClientConnection {
            try web.request(
                "POST", "\(WebFixture.origin)/send/\(Samples.topic.text)/\(name)",
                ["Authorization": "Bearer \(WebFixture.sendToken)"], "hello", at: node)
        }
        #expect(try send(to: device.description).status == 200)
        #expect(home.entry(of: device)?.pendingCount == 1)
        #expect(try send(to: "nobody").status == 404)
        home.pause()
        let unknown = try send(to: "nobody")
        web.wait(seconds: Limits.nodeAnswerMilliseconds / 1_000 + 1)
        #expect(unknown.status == 503)
    }
}
