import Foundation
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderStorage
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("postrider trace")
struct TraceCommandTests {
    private static let identity = "6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D"
    private static let device = "0123456789abcdef01234567"

    private static func trace(_ events: String, starts: String = "", lost: Int = 0) throws -> Control.Trace {
        let text = """
            {"pushes": [{"row": 7, "identity": "\(identity)", "acceptedAt": 1000000, "key": "KEY1234567",
              "hasCertificate": false, "payloadBytes": 52, "topic": "com.example.app", "device": "\(device)",
              "environment": "production", "pushType": "alert", "priority": 10, "expiresAt": 2000000,
              "collapses": true, "events": [\(events)], "isCut": false}],
             "starts": [\(starts)], "refusals": [], "lost": \(lost), "untoldRefusals": 0, "sample": 1}
            """
        return try JSONDecoder().decode(Control.Trace.self, from: Data(text.utf8))
    }

    private static func event(_ at: Int, _ what: String, _ more: String = "") -> String {
        #"{"row": 7, "at": \#(at), "what": "\#(what)"\#(more)}"#
    }

    @Test("prints the life of a push with the moments, the time since, and the relay's starts between")
    func life() throws {
        let events = [
            Self.event(1_000_002, "stored"), Self.event(1_000_010, "sent", #", "shard": 1, "connection": 9"#),
            Self.event(1_012_345, "returned"), Self.event(4_900_000, "acknowledged"),
        ]
        let trace = try Self.trace(events.joined(separator: ","), starts: "900, 1500000, 9900000", lost: 3)
        #expect(
            TraceListing.life(of: trace.pushes[0], in: trace) == """
                push      \(Self.identity)
                topic     com.example.app, production
                device    \(Self.device)
                provider  key KEY1234567
                what      alert, priority 10, 52 bytes, collapses, kept until 1970-01-01T00:33:20Z
                state     delivered

                MOMENT                    AFTER      WHAT
                1970-01-01T00:16:40.000Z  0 ms       accepted: 52 bytes for device \(Self.device)
                1970-01-01T00:16:40.002Z  2 ms       stored: it is on the disk
                1970-01-01T00:16:40.010Z  10 ms      sent to connection 9 of shard 1
                1970-01-01T00:16:52.345Z  12.3 s     its connection was lost before the device acknowledged \
                it; it waits again
                1970-01-01T00:25:00.000Z  500.0 s    the relay was started again
                1970-01-01T01:21:40.000Z  1 h 5 min  acknowledged: the device has it
                The trace has lost 3 records since the relay was started; lives may have gaps.
                """)
    }

    @Test("tells what happened in its order, whatever the clock was set to meanwhile")
    func setClock() throws {
        let events = [
            Self.event(1_000_002, "stored"), Self.event(990_000, "sent", #", "shard": 1, "connection": 9"#),
            Self.event(990_001, "acknowledged"),
        ]
        let trace = try Self.trace(events.joined(separator: ","), starts: "1000001", lost: 0)
        let lines = TraceListing.life(of: trace.pushes[0], in: trace).split(separator: "\n").suffix(5)
        let words = ["accepted", "the relay", "stored", "sent", "acknowledged"]
        #expect(zip(lines, words).allSatisfy { $0.contains("  \($1)") }, "\(lines)")
    }

    @Test(
        "says in a word where a push is",
        arguments: [
            ([], "pending"), (["stored", "sent"], "pending"), (["acknowledged"], "delivered"),
            (["replaced"], "replaced"), (["replaced", "recalled"], "pending"), (["expired"], "expired"),
            (["dropped"], "dropped: overflow"), (["discarded"], "discarded"), (["merged"], "merged"),
        ] as [([String], String)])
    func states(_ events: [String], _ state: String) throws {
        let text = events.map { Self.event(1_000_001, $0, #", "cause": "overflow""#) }
        let trace = try Self.trace(text.joined(separator: ","))
        #expect(TraceListing.state(of: trace.pushes[0]) == state)
        let line = try #require(TraceListing.list(trace).split(separator: "\n").last)
        #expect(line.contains(Self.identity) && line.contains(state))
    }

    @Test("prints what was refused, and how much more was")
    func refusals() throws {
        var trace = try Self.trace("")
        let text = """
            [{"at": 1000000, "identity": "\(Self.identity)", "status": 400, "reason": "BadDeviceToken",
              "topic": "com.example.app", "environment": "development", "shard": 1, "connection": 9},
             {"at": 1000001, "status": 503, "reason": "Shutdown", "environment": "production", "shard": 0,
              "connection": 3}]
            """
        trace.refusals = try JSONDecoder().decode([Control.TracedRefusal].self, from: Data(text.utf8))
        trace.untoldRefusals = 7
        let lines = TraceListing.refusals(trace).split(separator: "\n")
        #expect(
            lines.count == 4 && lines[1].contains("400 BadDeviceToken") && lines[1].contains(Self.identity))
        #expect(lines[1].contains("connection 9 of shard 1") && lines[2].contains("no apns-id"))
        #expect(lines[3] == "7 more were refused, too many in a second to be told of.")
    }

    @Test("prints to how many devices a broadcast went, and what devices report")
    func broadcasts() throws {
        var trace = try Self.trace(
            [
                Self.event(1_000_001, "broadcast", #", "shard": 0, "devices": 12"#),
                Self.event(1_000_002, "broadcast", #", "shard": 1, "devices": 1"#),
                Self.event(1_000_003, "skipped", #", "shard": 1, "devices": 2"#),
                Self.event(1_000_004, "shown", #", "deviceAt": 999999"#),
            ].joined(separator: ","))
        (trace.pushes[0].device, trace.pushes[0].channel) = (nil, "Y2hhbm5lbA==")
        let life = TraceListing.life(of: trace.pushes[0], in: trace)
        for words in [
            "channel   Y2hhbm5lbA==", "state     broadcast to 13 devices",
            "52 bytes for channel Y2hhbm5lbA==",
            "sent to 12 devices of shard 0", "sent to 1 device of shard 1",
            "not sent to 2 devices of shard 1",
            "the user was shown it, says the device; its clock said 1970-01-01T00:16:39.999Z",
        ] { #expect(life.contains(words), "\(words)") }
        #expect(!life.contains("device    ") && TraceListing.list(trace).contains("a channel"))
    }

    @Test(
        "measures time in units that say something",
        arguments: [
            (0, "0 ms"), (9999, "9999 ms"), (10_000, "10.0 s"), (599_999, "599.9 s"), (600_000, "0 h 10 min"),
            (86_400_000 * 3 + 3_600_000, "3 d 1 h"), (-9999, "-9999 ms"), (-600_000, "-0 h 10 min"),
        ] as [(Int64, String)])
    func durations(_ milliseconds: Int64, _ text: String) {
        #expect(TraceListing.duration(milliseconds) == text)
    }

    @Test(
        "refuses words that make no sense",
        arguments: [
            ["nonsense"], ["--device", "phone"], ["--topic", "no/topic"], ["--last", "0"],
            ["--last", "1001"], ["--follow", "--last", "3"], ["a", "b"], ["--follow", "--refused"],
            ["--refused", "--device", device],
        ])
    func mistakes(_ words: [String]) async {
        #expect(await Commands.program.run(["trace", "--control", "unix:/nowhere"] + words) == 2)
    }

    @Test("asks for what the user wants")
    func path() throws {
        let path = { try TraceArguments(TraceCommand.table.parse($0)).path }
        #expect(try path([]) == "/v1/trace")
        #expect(try path([Self.identity]) == "/v1/trace?id=\(Self.identity)")
        #expect(
            try path(["--device", Self.device, "--topic", "com.example.app", "--last", "5"])
                == "/v1/trace?device=\(Self.device)&topic=com.example.app&last=5")
        #expect(try path(["--refused"]) == "/v1/trace?refused")
        #expect(try path(["--refused", "--topic", "a.b"]) == "/v1/trace?topic=a.b&refused")
    }

    @Test("follows the pushes that are wanted, in the order of time")
    func follower() throws {
        let order = try TraceArguments(TraceCommand.table.parse(["--topic", "com.example.app"]))
        var follower = TraceFollower(order)
        let trace = try Self.trace(Self.event(1_000_005, "sent") + "," + Self.event(1_000_002, "stored"))
        let push = trace.pushes[0]
        var other = push
        (other.topic, other.row) = ("com.example.other", 8)
        var stray = push.events[0]
        stray.row = 8
        let text = #"{"pushes": [], "events": [], "cursor": "1:1", "lost": 0}"#
        var feed = try JSONDecoder().decode(Control.TraceFeed.self, from: Data(text.utf8))
        (feed.pushes, feed.events) = ([other, push], [stray] + push.events)
        #expect(follower.take(feed).map { $0.event?.what ?? "accepted" } == ["accepted", "stored", "sent"])
        feed.pushes = []
        #expect(follower.take(feed).count == 2, "what was accepted before is still known")
    }

    @Test("asks a relay that has no trace, and one that has")
    func relays() async throws {
        try await ControlTests.withRelay { client, _ in
            #expect(await ControlTests.run(["trace"], on: client) == 1)
            let (status, _) = try await client.list("/v1/status", of: Control.Status.self)
            #expect(status.trace == nil && !StatusCommand.describe(status).contains("trace"))
        }
        try await ControlTests.withRelay(trace: { MemoryTrace() }) { client, _ in
            #expect(await ControlTests.run(["trace"], on: client) == 0)
            #expect(await ControlTests.run(["trace", "--json", "--last", "3"], on: client) == 0)
            #expect(await ControlTests.run(["trace", Self.identity], on: client) == 1)
            #expect(await ControlTests.run(["trace", "--refused"], on: client) == 0)
            let (status, _) = try await client.list("/v1/status", of: Control.Status.self)
            #expect(status.trace?.lost == 0)
            #expect(StatusCommand.describe(status).contains("trace: records lost     0"))
            let (feed, _) = try await client.list("/v1/trace?follow", of: Control.TraceFeed.self)
            #expect(feed.cursor == "1:1", "the relay's start is behind")
            for query in ["follow=x", "id=1", "device=1", "topic=/", "last=0", "nonsense=1"] {
                let error = await #expect(throws: CommandFailure.self) {
                    _ = try await client.request("GET", "/v1/trace?\(query)")
                }
                #expect(error?.exitCode == 2, "\(query)")
            }
        }
    }
}
