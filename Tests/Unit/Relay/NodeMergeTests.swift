import Foundation
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderProviderAPI
@testable import PostriderRelay

@Suite("What several nodes have told")
struct NodeMergeTests {
    private func decoded<Value: Decodable>(_ json: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(json.utf8))
    }

    private func push(_ row: Int, at moment: Int) -> String {
        #"""
        {"row": \#(row), "identity": "p\#(row)", "acceptedAt": \#(moment), "hasCertificate": false,
        "payloadBytes": 2, "topic": "a", "environment": "production", "priority": 10, "collapses": false,
        "events": [], "isCut": false}
        """#
    }

    private func trace(_ pushes: [String], starts: [Int], lost: Int) throws -> Control.Trace {
        try decoded(
            #"{"pushes": [\#(pushes.joined(separator: ","))], "starts": \#(starts), "refusals": [],"#
                + #""lost": \#(lost), "untoldRefusals": 0, "sample": 1}"#)
    }

    @Test("has the last pushes of all nodes in the order in which they were accepted, each with its node")
    func trace() throws {
        let parts = try [
            ("a", trace([push(1, at: 10), push(2, at: 30)], starts: [5], lost: 1)),
            ("b", trace([push(7, at: 20)], starts: [4], lost: 2)), ("c", trace([], starts: [3], lost: 0)),
        ]
        let all = Control.Trace(ofNodes: parts, last: 10)
        #expect(all.pushes.map(\.row) == [1, 7, 2] && all.pushes.map(\.node) == ["a", "b", "a"])
        #expect(all.starts == [4, 5] && all.lost == 3)
        #expect(Control.Trace(ofNodes: parts, last: 2).pushes.map(\.row) == [7, 2])
    }

    @Test("goes on at each node where it was, and at a node that has not answered, too")
    func cursor() throws {
        var cursor = TraceCursor("a@1:2,b.c@3:4,5:6")
        #expect(cursor.positions == ["a": "1:2", "b.c": "3:4"])
        cursor.positions["a"] = "1:9"
        let event = #"{"row": 1, "at": 8, "what": "sent"}"#
        let feeds: [(String, Control.TraceFeed)] = try [
            (
                "a",
                decoded(
                    #"{"pushes": [\#(push(1, at: 7))], "events": [\#(event)], "cursor": "1:9", "lost": 1}"#)
            ),
            ("d", decoded(#"{"pushes": [\#(push(2, at: 5))], "events": [], "cursor": "0:0", "lost": 0}"#)),
        ]
        let feed = Control.TraceFeed(ofNodes: feeds, cursor: cursor)
        #expect(feed.pushes.map(\.row) == [2, 1] && feed.events.map(\.what) == ["sent"])
        #expect(feed.cursor == "a@1:9,b.c@3:4" && feed.lost == 1)
    }

    @Test("says of a push what the node knows that knows most")
    func progress() throws {
        func state(_ state: String, _ stages: String) throws -> Control.PushState {
            try decoded(
                #"{"identity": "x", "wait": "done", "state": "\#(state)", "stages": [\#(stages)],"#
                    + #""position": "here"}"#
            )
        }
        let (unknown, refused) = try (state("underWay", ""), state("failed", ""))
        let (accepted, dropped) = try (
            state("underWay", #""accepted""#), state("failed", #""accepted""#)
        )
        let reached = try state("reached", #""accepted""#)
        let ranked = [unknown, refused, accepted, dropped, reached]
        for count in 1...ranked.count {
            let furthest = Control.PushState.furthest(of: ranked.prefix(count).reversed())
            #expect(furthest?.state == ranked[count - 1].state)
            #expect(furthest?.stages == ranked[count - 1].stages)
        }
        #expect(Control.PushState.furthest(of: []) == nil)
    }

    @Test("has the devices of a lookup by name, up to where a node has more of them")
    func lookup() {
        func found(_ names: String..., next: String? = nil) -> ProviderLookups.Found {
            ProviderLookups.Found(devices: names.map { .init(name: $0, token: "t") }, next: next)
        }
        let all = ProviderLookups.Found(merging: [found("b", "D"), found("a", "c")], most: 10)
        #expect(all.devices.map(\.name) == ["a", "b", "c", "D"] && all.next == nil)
        let cut = ProviderLookups.Found(merging: [found("b", "D", next: "D"), found("a", "e")], most: 10)
        #expect(cut.devices.map(\.name) == ["a", "b", "D"] && cut.next == "D")
        let long = ProviderLookups.Found(merging: [found("a", "c"), found("b", "d", "d")], most: 4)
        #expect(long.devices.map(\.name) == ["a", "b", "c"] && long.next == "c")
    }

    @Test("has the oldest channels of all nodes, and counts all")
    func channels() {
        func list(_ moments: Int64...) -> Control.ChannelList {
            Control.ChannelList(
                count: 5,
                channels: moments.map {
                    Control.Channel(
                        channel: "\($0)", topic: "a", environment: .production, storesLatest: false,
                        createdAt: $0, subscribers: 0)
                })
        }
        let merged = Control.ChannelList(merging: [list(1, 4), list(2, 3)], most: 3)
        #expect(merged.count == 10 && merged.channels.map(\.createdAt) == [1, 2, 3])
    }
}
