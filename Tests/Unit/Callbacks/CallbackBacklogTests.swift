import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderCallbacks

@Suite("The backlog of callbacks")
struct CallbackBacklogTests {
    private static func push(_ row: Int64) -> CallbackPush {
        CallbackPush(
            row: QueueRow(row), identity: NotificationIdentity(high: 1, low: UInt64(row)),
            device: Samples.device, topic: Samples.topic, acceptedAt: Samples.now,
            url: "https://hooks.example.com/a?b=c")
    }

    private static func owed(_ row: Int64, _ event: String) throws -> CallbackRecord {
        let url = try #require(CallbackURL("https://hooks.example.com/a?b=c"))
        let body = #"{"data":{"reason":"it has failed: grün"},"type":"push.\#(event)"}"#
        let message = CallbackMessage(id: "id.\(row).\(event)", url: url, body: Array(body.utf8))
        return .owed(message, row: QueueRow(row), event: event)
    }

    private func backlog(_ records: [CallbackRecord]) -> CallbackBacklog {
        var backlog = CallbackBacklog()
        for record in records { backlog.take(record) }
        return backlog
    }

    @Test("has the pushes that may have callbacks, what they were told, and the messages without a receiver")
    func contents() throws {
        let found = backlog([
            .expected(Self.push(1)), .expected(Self.push(2)), try Self.owed(1, "delivered"),
            try Self.owed(1, "taken"), .settled("id.1.delivered"), .merged(QueueRow(2), into: QueueRow(9)),
        ])
        #expect(found.pushes.map(\.push.row.value) == [1, 2] && found.pushes.map(\.row.value) == [1, 9])
        #expect(found.pushes.map(\.told) == [["delivered", "taken"], []])
        #expect(found.messages.map(\.id) == ["id.1.taken"] && found.lastRow == QueueRow(2))
    }

    @Test("is the same after its records are written and read")
    func rewriting() throws {
        let first = backlog([
            .expected(Self.push(1)), .expected(Self.push(2)), .expected(Self.push(3)),
            try Self.owed(1, "delivered"), try Self.owed(2, "done"), try Self.owed(3, "failed"),
            .settled("id.1.delivered"), .settled("id.3.failed"), .merged(QueueRow(1), into: QueueRow(9)),
        ])
        let lines = first.records.map(\.line)
        let records = lines.compactMap { CallbackRecord(line: $0) }
        #expect(records == first.records && lines.allSatisfy { !$0.contains("\n") })
        let second = backlog(records)
        #expect(second.pushes == first.pushes && second.messages == first.messages)
        // Those that are done or have failed have no more callbacks, but what is owed of them is kept.
        #expect(second.pushes.map(\.push.row.value) == [1] && second.messages.map(\.id) == ["id.2.done"])
        #expect(second.records == first.records)
    }

    @Test("does without lines that are none, or only the beginning of one")
    func garbage() throws {
        let lines = [CallbackRecord.expected(Self.push(1)).line, try Self.owed(1, "done").line]
        for line in lines + ["merged 1 2", "told 1 done", "settled id"] {
            #expect(CallbackRecord(line: line) != nil)
        }
        for line in lines {
            for end in [1, 5, line.utf8.count / 2] {
                #expect(CallbackRecord(line: line.prefix(end)) == nil)
            }
        }
        #expect(CallbackRecord(line: lines[1].dropLast()) == nil)
        for line in [
            "", " ", "push", "push x y z a b c", "merged 1", "told x done", "settled", "owed 1 done",
        ] {
            #expect(CallbackRecord(line: line) == nil, "\(line)")
        }
    }

    @Test("is bounded: the oldest pushes and the newest messages are left out")
    func bounds() throws {
        var backlog = CallbackBacklog()
        for row in 1...Int64(Limits.callbackPushes) + 1 { backlog.take(.expected(Self.push(row))) }
        #expect(backlog.pushes.count == Limits.callbackPushes && backlog.pushes[0].push.row.value == 2)
        for row in 1...Int64(Limits.callbacksOwed.all) + 1 { backlog.take(try Self.owed(row, "done")) }
        #expect(backlog.messages.count == Limits.callbacksOwed.all && backlog.messages[0].id == "id.1.done")
    }
}
