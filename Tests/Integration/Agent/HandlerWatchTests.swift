import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("An app whose handler does not return")
struct HandlerWatchTests {
    private let topic = RecordedApp.topic

    /// Advances the time and fires what is due.
    private func pass(_ fixture: RouterFixture, seconds: Int64) {
        fixture.clock.pass(milliseconds: seconds * 1000)
        fixture.clock.fireTimers()
        fixture.router.endTurn()
    }

    /// Attaches an app that loses its stream when the agent ends its process.
    private func attached(_ fixture: RouterFixture) -> RecordedApp {
        let app = fixture.attached()
        app.whenEnded = { [unowned app] in fixture.router.left(app.stream) }
        return app
    }

    @Test("is ended if the agent has started it, and gives up what it cannot handle", .bug(id: "A3"))
    func started() throws {
        let fixture = try RouterFixture(manifests: [.sample()])
        fixture.router.left(fixture.attached().stream)
        fixture.deliveries.mostAttempts = 2
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        for attempt in 1...2 {
            #expect(fixture.launcher.processes.count == attempt)
            let process = fixture.launcher.processes[attempt - 1]
            let app = fixture.attached(process: process.identifier)
            let given: [UInt64] = attempt == 1 ? [1, 2] : [1, 2, 3]
            #expect(app.identities == given)
            pass(fixture, seconds: 59)
            #expect(process.orders.isEmpty)
            pass(fixture, seconds: 1)
            #expect(process.orders == ["terminate"] && app.ended.isEmpty)
            // The app gets nothing more, and its end does not count again.
            fixture.arrive(3)
            pass(fixture, seconds: 3)
            #expect(process.orders == ["terminate", "kill"] && app.identities == given)
            fixture.router.left(app.stream, isBroken: true)
            process.end(.killed(9))
            fixture.router.endTurn()
            pass(fixture, seconds: 60)
        }
        #expect(fixture.launcher.processes.count == 3 && fixture.attached().identities == [2, 3])
        let dead = try #require(try fixture.files.state.deadLetters.entries().first)
        #expect(dead.parcel.identity.low == 1 && dead.attempts == 2)
        #expect(dead.reason == "The app had not handled it after 60 s.")
    }

    @Test(
        "loses its stream if somebody else has started it, with a manifest or without", .bug(id: "A3"),
        arguments: [[], [AppManifest.sample()]])
    func stranger(_ manifests: [AppManifest]) throws {
        let fixture = try RouterFixture(manifests: manifests)
        let app = attached(fixture)
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        pass(fixture, seconds: 60)
        #expect(app.ended == [.deadlineExceeded] && fixture.streams.attachments.isEmpty)
        #expect(fixture.launcher.processes.allSatisfy { $0.orders.isEmpty })
        // The app comes back, and its end has counted as one attempt.
        let next = attached(fixture)
        #expect(next.identities == [1, 2])
        let number = try #require(fixture.files.state.apps[topic]).number
        #expect(try fixture.files.state.inbox.attempts(of: number).values.sorted() == [0, 1])
    }

    @Test("is one that handles nothing, not one that takes its time with each", .bug(id: "A3"))
    func progress() throws {
        let fixture = try RouterFixture()
        let app = attached(fixture)
        fixture.arrive(1, 2, 3, 4)
        fixture.router.endTurn()
        for delivery: UInt64 in 1...3 {
            pass(fixture, seconds: 59)
            #expect(fixture.deliveries.handled([delivery], by: app.stream))
        }
        pass(fixture, seconds: 59)
        #expect(fixture.deliveries.failed(Failed(delivery: 4, reason: "No."), by: app.stream))
        fixture.router.endTurn()
        pass(fixture, seconds: 1000)
        #expect(app.ended.isEmpty)
        // After a pause without work, the time begins anew.
        #expect(app.identities == [1, 2, 3, 4, 4])
        pass(fixture, seconds: 59)
        #expect(fixture.deliveries.handled([5], by: app.stream))
        pass(fixture, seconds: 1000)
        #expect(app.ended.isEmpty)
    }

    @Test("may have another bound in its manifest, or none", .bug(id: "A3"), arguments: [5, 3600, nil])
    func manifest(_ seconds: Int?) throws {
        var manifest = AppManifest.sample()
        manifest.handlerSeconds = seconds
        let fixture = try RouterFixture(manifests: [manifest])
        let app = attached(fixture)
        fixture.arrive(1)
        fixture.router.endTurn()
        pass(fixture, seconds: Int64(seconds ?? 100_000) - 1)
        #expect(app.ended.isEmpty)
        pass(fixture, seconds: 1)
        #expect(app.ended == (seconds == nil ? [] : [.deadlineExceeded]))
    }

    @Test("holds nothing up where a newer process of it has the topic", .bug(id: "A3"))
    func older() throws {
        let fixture = try RouterFixture()
        let old = attached(fixture)
        fixture.arrive(1)
        fixture.router.endTurn()
        let new = attached(fixture)
        #expect(fixture.deliveries.handled([1], by: new.stream))
        pass(fixture, seconds: 1000)
        #expect(old.ended.isEmpty && new.ended.isEmpty)
    }

    @Test("is told in the log after ten seconds, once, and shown to the owner", .bug(id: "A3"))
    func visible() throws {
        let fixture = try RouterFixture()
        let lines = Journal<String>()
        let watch = HandlerWatch(
            fixture.clock, log: Log { level, line in lines.note("\(level): \(line)") },
            boundMilliseconds: { _ in Limits.handlerSeconds.usual * 1000 }, stuck: { _, _ in })
        let control = fixture.control(user: 7)
        func apps() throws -> [AgentControl.App] {
            let answer = control.handle("GET", "/v1/apps", body: [], from: 7)
            return try JSONDecoder().decode([AgentControl.App].self, from: Data(answer.body))
        }
        let app = attached(fixture)
        fixture.arrive(1)
        fixture.router.endTurn()
        watch.watch(app.stream)
        pass(fixture, seconds: 9)
        #expect(try lines.events.isEmpty && apps().first?.busySeconds == nil)
        pass(fixture, seconds: 1)
        pass(fixture, seconds: 15)
        #expect(lines.events == ["notice: \(topic) has been busy for 10 s with 1 notification"])
        #expect(try apps().first?.busySeconds == 25 && apps().first?.underWay == 1)
        #expect(fixture.deliveries.handled([1], by: app.stream))
        #expect(try apps().first?.busySeconds == nil)
    }

    @Test("is told why its stream ends", .bug(id: "A3"))
    func status() throws {
        let fixture = try SocketFixture(callsPerTurn: 10)
        let app = try #require(fixture.connect())
        let stream = try app.attach()
        app.say(AppMessage.register(topic: topic), on: stream)
        try fixture.turn()
        fixture.fixture.arrive(1)
        try fixture.turn()
        #expect(app.delivered == [1])
        // A call that is not processed yet when the stream ends is ignored.
        app.say(AppMessage.handled([7]), on: stream)
        fixture.fixture.clock.pass(milliseconds: 60_000)
        fixture.fixture.clock.fireTimers()
        try fixture.turn(times: 3)
        #expect(app.statuses[stream] == "\(GRPCStatus.deadlineExceeded.rawValue)")
        #expect(fixture.fixture.streams.attachments.isEmpty)
    }
}
