import Foundation
import PostriderCallbacks
import PostriderNotifications
import RelayFixtures
import Synchronization
import Testing

@testable import PostriderRelay

@Suite("The callbacks of pushes")
struct CallbackTrackerTests {
    private final class Told: Sendable {
        private let all = Mutex<[CallbackMessage]>([])
        func add(_ messages: [CallbackMessage]) { all.withLock { $0 += messages } }
        var messages: [CallbackMessage] { all.withLock { $0 } }
    }

    /// A store in memory.
    private final class Kept: CallbackStore {
        private let records = Mutex<[CallbackRecord]>([])
        func append(_ some: [CallbackRecord]) { records.withLock { $0 += some } }

        func load() -> CallbackBacklog {
            records.withLock { $0.reduce(into: CallbackBacklog()) { $0.take($1) } }
        }
    }

    private let told = Told()
    private let kept = Kept()
    private let tracker: CallbackTracker

    init() throws { tracker = try Self.start(told, kept) }

    private static func start(
        _ told: Told, _ kept: Kept, allowing prefix: String = "https://a.example"
    ) throws -> CallbackTracker {
        let policy = try #require(CallbackPolicy(prefixes: [prefix]))
        return CallbackTracker(
            CallbackConfiguration(policy: policy, counts: CallbackCounts(), store: kept, send: told.add))
    }

    private var types: [String] {
        get throws {
            try told.messages.map { message in
                let object = try JSONSerialization.jsonObject(with: Data(message.body))
                return try #require((object as? [String: Any])?["type"] as? String)
            }
        }
    }

    private static func queued(_ row: Int64, _ url: String? = "https://a.example/x") -> QueuedNotification {
        let it = Samples.notification(UInt64(row))
        return QueuedNotification(
            row: QueueRow(row),
            notification: Notification(
                identity: it.identity, device: it.device, registration: it.registration, topic: it.topic,
                pushType: it.pushType, priority: it.priority, expiration: it.expiration,
                collapseIdentifier: nil,
                payload: it.payload, acceptedAt: it.acceptedAt, callback: url))
    }

    private func expect(_ rows: Int64...) {
        tracker.expect(rows.compactMap { CallbackPush(Self.queued($0)) })
    }

    private func event(_ kind: TraceEvent.Kind, _ row: Int64, _ detail: Int64 = 0) -> TraceRecord {
        .event(TraceEvent(kind, at: Samples.now, row: QueueRow(row), detail: detail))
    }

    private func report(
        _ kind: TraceEvent.Kind, _ row: Int64, by device: DeviceIdentity = Samples.device,
        knowsRow: Bool = true
    ) -> TraceRecord {
        .report(
            TraceReport(
                kind, at: Samples.now, onDevice: Samples.now, of: Self.queued(row).notification.identity,
                row: QueueRow(knowsRow ? row : 0), by: device, text: "its text"))
    }

    @Test("are sent once for each stage, in the order of a push's life")
    func stages() throws {
        #expect(CallbackPush(Self.queued(1, nil)) == nil)
        expect(7)
        tracker.take([event(.sent, 7), event(.acknowledged, 7), event(.acknowledged, 7)])
        tracker.take([report(.begun, 7), report(.failed, 7), report(.begun, 7)])
        tracker.take([report(.done, 7), report(.shown, 7), report(.shown, 7)])
        #expect(try types == ["push.delivered", "push.taken", "push.done", "push.shown"])
        #expect(Set(told.messages.map(\.id)).count == 4)
        let first = try JSONSerialization.jsonObject(with: Data(told.messages[0].body)) as? [String: Any]
        let data = try #require(first?["data"] as? [String: Any])
        #expect(data["apns-id"] as? String == Self.queued(7).notification.identity.description)
        #expect(data["event"] as? String == "delivered" && data["topic"] as? String == Samples.topic.text)
    }

    @Test(
        "say why a push has failed",
        arguments: [
            (.expired, "it expired"), (.discarded, "now or never"), (.replaced, "took its place"),
            (.dropped, "it was dropped"),
        ] as [(TraceEvent.Kind, String)])
    func failures(_ kind: TraceEvent.Kind, _ words: String) throws {
        expect(7)
        tracker.take([event(kind, 7), event(kind, 7)])
        #expect(try types == ["push.failed"])
        #expect(String(decoding: told.messages[0].body, as: UTF8.self).contains(words))
    }

    @Test("say that a handler has given up, with its text")
    func deadLetter() throws {
        expect(7)
        tracker.take([event(.acknowledged, 7), report(.begun, 7), report(.gaveUp, 7)])
        #expect(try types == ["push.delivered", "push.taken", "push.failed"])
        #expect(String(decoding: told.messages[2].body, as: UTF8.self).contains("its text"))
    }

    @Test("of a push that was sent twice follow the one that was there first")
    func merged() throws {
        expect(7, 8)
        tracker.take([event(.merged, 8, 7), event(.acknowledged, 7)])
        #expect(try types == ["push.delivered"])
        // The first had no callback.
        expect(10)
        tracker.take([event(.merged, 10, 9), event(.acknowledged, 9)])
        #expect(try types == ["push.delivered", "push.delivered"])
    }

    @Test("believe reports of the push's own device alone, and find it by its identity, too")
    func devices() throws {
        expect(7)
        tracker.take([report(.handedOver, 7, by: DeviceIdentity(high: 9, low: 9))])
        #expect(told.messages.isEmpty)
        tracker.take([report(.handedOver, 7, knowsRow: false)])
        #expect(try types == ["push.delivered", "push.taken", "push.done"])
    }

    @Test("do not miss a report that arrives before the push is known, and keep only so many of these")
    func early() throws {
        tracker.take([report(.handedOver, 7)])
        expect(7)
        #expect(try types == ["push.delivered", "push.taken", "push.done"])
        tracker.take((100..<10_000).map { report(.handedOver, $0) })
        expect(100, 9_999)
        #expect(told.messages.count == 6, "the oldest of them is forgotten")
    }

    @Test("go on after a restart: what is owed is sent again, and each stage that follows")
    func restart() throws {
        expect(7, 8)
        tracker.take([event(.acknowledged, 7), event(.merged, 8, 6)])
        #expect(try types == ["push.delivered"])
        kept.append([.settled(told.messages[0].id)])
        tracker.take([report(.begun, 7)])
        let later = Told()
        let next = try Self.start(later, kept)
        #expect(later.messages == [told.messages[1]] && next.lastRow == QueueRow(8))
        next.take([event(.acknowledged, 7), report(.begun, 7), report(.done, 7), event(.acknowledged, 6)])
        #expect(
            later.messages.map(\.id).map { $0.split(separator: ".").suffix(2).joined(separator: ".") } == [
                "7.taken", "7.done", "8.delivered",
            ])
        // What the operator does not allow any more is forgotten.
        let refused = Told()
        let last = try Self.start(refused, kept, allowing: "https://b.example")
        last.take([report(.done, 6)])
        #expect(refused.messages.isEmpty && kept.load().messages.isEmpty)
    }

    @Test("are of at most so many pushes: the oldest are forgotten")
    func bound() throws {
        let count = Int64(Limits.callbackPushes)
        tracker.expect((1...count + 1).compactMap { CallbackPush(Self.queued($0)) })
        tracker.take([event(.acknowledged, 1), event(.acknowledged, 2), event(.acknowledged, count + 1)])
        #expect(told.messages.count == 2)
    }
}
