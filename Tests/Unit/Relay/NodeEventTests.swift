import Foundation
import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A program that follows the events of a cluster's devices")
struct NodeEventTests {
    /// What the program was sent.
    private final class Follower {
        struct Event: Decodable, Equatable {
            var what: String
            var node: String?
            var identity: String?
            var name: String?
            var ending: String?
        }

        var takes = true
        private(set) var bytes: [UInt8] = []

        func take(_ some: [UInt8]) -> Bool {
            bytes += some
            return takes
        }

        /// The events, in their order.
        var events: [Event] {
            String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
                guard line.hasPrefix("data: ") else { return nil }
                return try? JSONDecoder().decode(Event.self, from: Data(line.dropFirst(6).utf8))
            }
        }

        /// Event and node, such as `away b`.
        var words: [String] { events.map { "\($0.what) \($0.node ?? "")" } }
    }

    private let fixture = NodesFixture()
    private let nodes: [FixtureNode]
    private let operators: [NodeOperator]

    init() throws {
        nodes = [try fixture.start("a"), try fixture.start("b", shards: 3), try fixture.start("c")]
        operators = nodes.map(NodeOperator.init)
        fixture.wait(milliseconds: 15_000)
    }

    private func feed(_ node: Int) -> DeviceEventFeed { nodes[node].shards[0].directory.events }

    private func follow(at node: Int) -> Follower {
        let follower = Follower()
        let feed = feed(node)
        feed.prepare {
            if let number = feed.follow(follower.take) { feed.tellMissing(number) }
            feed.endPreparation()
        }
        fixture.settle()
        return follower
    }

    /// A device that this node has.
    private func device(of node: Int) throws -> DeviceIdentity {
        try #require(fixture.devices.first { nodes[node].home(of: $0) != nil })
    }

    private func connect(_ device: DeviceIdentity) throws -> (node: FixtureNode, session: FixtureSession) {
        let node = try #require(nodes.first { $0.isAlive && $0.home(of: device) != nil })
        let session = try #require(node.welcome(device))
        fixture.wait(milliseconds: 500)
        return (node, session)
    }

    private func link(_ one: FixtureNode, _ other: FixtureNode) {
        fixture.link(one, other)
        fixture.link(other, one)
    }

    private func unlink(_ one: FixtureNode, _ other: FixtureNode) {
        for (node, peer) in [(one, other), (other, one)] {
            for link in node.openLinks where node.peer(over: link) === peer { node.dropLink(link) }
        }
    }

    @Test("is told of the devices of all nodes, with their names and nodes, whichever node it has asked")
    func all() throws {
        let followers = nodes.indices.map(follow)
        let named = try device(of: 1)
        operators[2].ask("PATCH", "/v1/devices/\(named)", #"{"name":"kiosk"}"#)
        for index in nodes.indices {
            let device = try device(of: index)
            let (node, session) = try connect(device)
            node.disconnected(device, session)
            fixture.wait(milliseconds: 500)
        }
        for follower in followers {
            #expect(
                follower.words == [
                    "connected a", "away a", "connected b", "away b", "connected c", "away c",
                ])
            let kiosk = follower.events.filter { $0.name == "kiosk" }
            #expect(kiosk.map(\.identity) == [named.description, named.description])
            #expect(kiosk.map(\.ending) == [nil, "cut"])
        }
    }

    @Test("sees a device that moves leave one node as moved, and connect to another")
    func moved() throws {
        let device = try device(of: 1)
        _ = try connect(device)
        let follower = follow(at: 0)
        nodes[1].drain()
        fixture.wait(milliseconds: 15_000)
        let (home, _) = try connect(device)
        let events = follower.events
        #expect(events.map(\.identity) == [device.description, device.description])
        #expect(follower.words == ["away b", "connected \(home.name)"] && home !== nodes[1])
        #expect(events.map(\.ending) == ["moved", nil])
    }

    @Test("is told that a node is missing, and later what has happened there meanwhile")
    func missing() throws {
        let followers = [follow(at: 0)]
        unlink(nodes[0], nodes[1])
        fixture.wait(milliseconds: 500)
        #expect(followers[0].words == ["nodeMissing b"])
        let late = follow(at: 0)
        #expect(late.words == ["nodeMissing b"])
        let device = try device(of: 1)
        _ = try connect(device)
        #expect(late.words == ["nodeMissing b"])
        link(nodes[0], nodes[1])
        fixture.wait(milliseconds: 500)
        // The second one did not follow before the node was missing.
        #expect(followers[0].words == ["nodeMissing b", "nodeBack b", "connected b"])
        #expect(late.words == followers[0].words)
    }

    @Test("is told if events are lost, because their node was missing for too long")
    func lost() throws {
        let follower = follow(at: 0)
        unlink(nodes[0], nodes[1])
        fixture.wait(milliseconds: Limits.keptDeviceEventsMilliseconds + 500)
        _ = try connect(try device(of: 1))
        link(nodes[0], nodes[1])
        fixture.wait(milliseconds: 500)
        #expect(follower.words == ["nodeMissing b", "nodeBack b", "eventsLost b"])
    }

    @Test("is told that a node has died, and sees its devices connect to others")
    func killed() throws {
        let device = try device(of: 2)
        _ = try connect(device)
        let follower = follow(at: 1)
        nodes[2].kill()
        fixture.wait(milliseconds: 5_000)
        #expect(follower.words == ["nodeMissing c", "nodeLeft c"])
        let (home, _) = try connect(device)
        #expect(follower.words.last == "connected \(home.name)")
        let next = try fixture.start("d")
        withExtendedLifetime(NodeOperator(next)) {
            fixture.wait(milliseconds: 1_000)
            #expect(follower.words.contains("nodeJoined d"))
        }
    }

    @Test("that takes nothing is left, and then no node keeps events")
    func left() throws {
        let follower = follow(at: 0)
        fixture.wait(milliseconds: 500)
        #expect(nodes.map { $0.shards[1].home.presence.hasListeners } == [true, true, true])
        follower.takes = false
        _ = try connect(try device(of: 1))
        #expect(nodes.map { $0.shards[1].home.presence.hasListeners } == [false, true, true])
        fixture.wait(milliseconds: Limits.keptDeviceEventsMilliseconds + 500)
        #expect(nodes.map { $0.shards[1].home.presence.hasListeners } == [false, false, false])
        #expect(!feed(1).isFollowed && follower.words == ["connected b"])
    }

    @Test("gets so many events of one node at a time, and of a node that has too many the last ones")
    func bounds() throws {
        let log = DeviceEventLog(nodes[0].shards[0].context, PresenceExchange())
        let start = log.read(after: "")
        #expect(start.events.isEmpty && !start.hasGap && !start.hasMore)
        let event = Control.DeviceEvent(
            what: .connected, at: 0, identity: "1", name: "a", address: "", agent: "")
        log.add(Array(repeating: event, count: Limits.deviceEventsAtOnce + 1))
        let first = log.read(after: start.cursor)
        #expect(first.events.count == Limits.deviceEventsAtOnce && first.hasMore && !first.hasGap)
        let second = log.read(after: first.cursor)
        #expect(second.events.count == 1 && !second.hasMore && !second.hasGap)
        log.add(Array(repeating: event, count: 3 * Limits.keptDeviceEvents))
        var (part, count) = (log.read(after: second.cursor), 0)
        #expect(part.hasGap)
        while true {
            count += part.events.count
            guard part.hasMore else { break }
            part = log.read(after: part.cursor)
            #expect(!part.hasGap)
        }
        #expect(count == Limits.keptDeviceEvents)
        #expect(log.read(after: "\(UInt64.max):2").hasGap && log.read(after: "no cursor").hasGap)
    }
}
