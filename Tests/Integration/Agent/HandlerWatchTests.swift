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
    private func pass(_ rig: DeskRig, seconds: Int64) {
        rig.clock.pass(milliseconds: seconds * 1000)
        rig.clock.fireTimers()
        rig.desk.endTurn()
    }

    /// Attaches an app that loses its stream when the agent ends its process.
    private func attached(_ rig: DeskRig) -> RecordedApp {
        let app = rig.attached()
        app.whenEnded = { [unowned app] in rig.desk.left(app.stream) }
        return app
    }

    @Test("is ended if the agent has started it, and gives up what it cannot handle", .bug(id: "A3"))
    func started() throws {
        let rig = try DeskRig(manifests: [.sample()])
        rig.desk.left(rig.attached().stream)
        rig.desk.mostAttempts = 2
        rig.arrive(1, 2)
        rig.desk.endTurn()
        for attempt in 1...2 {
            #expect(rig.launcher.processes.count == attempt)
            let process = rig.launcher.processes[attempt - 1]
            let app = rig.attached(process: process.identifier)
            let given: [UInt64] = attempt == 1 ? [1, 2] : [1, 2, 3]
            #expect(app.identities == given)
            pass(rig, seconds: 59)
            #expect(process.orders.isEmpty)
            pass(rig, seconds: 1)
            #expect(process.orders == ["terminate"] && app.ended.isEmpty)
            // The app gets nothing more, and its end does not count again.
            rig.arrive(3)
            pass(rig, seconds: 3)
            #expect(process.orders == ["terminate", "kill"] && app.identities == given)
            rig.desk.left(app.stream, isBroken: true)
            process.end(.killed(9))
            rig.desk.endTurn()
            pass(rig, seconds: 60)
        }
        #expect(rig.launcher.processes.count == 3 && rig.attached().identities == [2, 3])
        let dead = try #require(try rig.ground.state.deadLetters.letters().first)
        #expect(dead.parcel.identity.low == 1 && dead.attempts == 2)
        #expect(dead.reason == "The app had not handled it after 60 s.")
    }

    @Test(
        "loses its stream if somebody else has started it, with a manifest or without", .bug(id: "A3"),
        arguments: [[], [AppManifest.sample()]])
    func stranger(_ manifests: [AppManifest]) throws {
        let rig = try DeskRig(manifests: manifests)
        let app = attached(rig)
        rig.arrive(1, 2)
        rig.desk.endTurn()
        pass(rig, seconds: 60)
        #expect(app.ended == [.deadlineExceeded] && rig.desk.attachments.isEmpty)
        #expect(rig.launcher.processes.allSatisfy { $0.orders.isEmpty })
        // The app comes back, and its end has counted as one attempt.
        let next = attached(rig)
        #expect(next.identities == [1, 2])
        let number = try #require(rig.ground.state.apps[topic]).number
        #expect(try rig.ground.state.inbox.attempts(of: number).values.sorted() == [0, 1])
    }

    @Test("is one that handles nothing, not one that takes its time with each", .bug(id: "A3"))
    func progress() throws {
        let rig = try DeskRig()
        let app = attached(rig)
        rig.arrive(1, 2, 3, 4)
        rig.desk.endTurn()
        for delivery: UInt64 in 1...3 {
            pass(rig, seconds: 59)
            #expect(rig.desk.handled([delivery], by: app.stream))
        }
        pass(rig, seconds: 59)
        #expect(rig.desk.failed(Failed(delivery: 4, reason: "No."), by: app.stream))
        rig.desk.endTurn()
        pass(rig, seconds: 1000)
        #expect(app.ended.isEmpty)
        // After a pause without work, the time begins anew.
        #expect(app.identities == [1, 2, 3, 4, 4])
        pass(rig, seconds: 59)
        #expect(rig.desk.handled([5], by: app.stream))
        pass(rig, seconds: 1000)
        #expect(app.ended.isEmpty)
    }

    @Test("may have another bound in its manifest, or none", .bug(id: "A3"), arguments: [5, 3600, nil])
    func manifest(_ seconds: Int?) throws {
        var manifest = AppManifest.sample()
        manifest.handlerSeconds = seconds
        let rig = try DeskRig(manifests: [manifest])
        let app = attached(rig)
        rig.arrive(1)
        rig.desk.endTurn()
        pass(rig, seconds: Int64(seconds ?? 100_000) - 1)
        #expect(app.ended.isEmpty)
        pass(rig, seconds: 1)
        #expect(app.ended == (seconds == nil ? [] : [.deadlineExceeded]))
    }

    @Test("holds nothing up where a newer process of it has the topic", .bug(id: "A3"))
    func older() throws {
        let rig = try DeskRig()
        let old = attached(rig)
        rig.arrive(1)
        rig.desk.endTurn()
        let new = attached(rig)
        #expect(rig.desk.handled([1], by: new.stream))
        pass(rig, seconds: 1000)
        #expect(old.ended.isEmpty && new.ended.isEmpty)
    }

    @Test("is told in the log after ten seconds, once, and shown to the owner", .bug(id: "A3"))
    func visible() throws {
        let rig = try DeskRig()
        let lines = Journal<String>()
        let watch = HandlerWatch(rig.clock, log: Log { level, line in lines.note("\(level): \(line)") })
        let owner = AgentControlHandler(
            rig.ground.state, desk: rig.desk, keeper: rig.keeper, log: .none, user: 7)
        func apps() throws -> [AgentControl.App] {
            let answer = owner.handle("GET", "/v1/apps", body: [], from: 7)
            return try JSONDecoder().decode([AgentControl.App].self, from: Data(answer.body))
        }
        let app = attached(rig)
        rig.arrive(1)
        rig.desk.endTurn()
        watch.watch(app.stream)
        pass(rig, seconds: 9)
        #expect(try lines.events.isEmpty && apps().first?.busySeconds == nil)
        pass(rig, seconds: 1)
        pass(rig, seconds: 15)
        #expect(lines.events == ["notice: \(topic) has been busy for 10 s with 1 notification"])
        #expect(try apps().first?.busySeconds == 25 && apps().first?.underWay == 1)
        #expect(rig.desk.handled([1], by: app.stream))
        #expect(try apps().first?.busySeconds == nil)
    }

    @Test("is told why its stream ends", .bug(id: "A3"))
    func status() throws {
        let rig = try SocketRig(callsPerTurn: 10)
        let app = try #require(rig.connect())
        let stream = try app.attach()
        app.say(AppMessage.register(topic: topic), on: stream)
        try rig.turn()
        rig.rig.arrive(1)
        try rig.turn()
        #expect(app.delivered == [1])
        // A call that is not processed yet when the stream ends is ignored.
        app.say(AppMessage.handled([7]), on: stream)
        rig.rig.clock.pass(milliseconds: 60_000)
        rig.rig.clock.fireTimers()
        try rig.turn(times: 3)
        #expect(app.statuses[stream] == "\(GRPCStatus.deadlineExceeded.rawValue)")
        #expect(rig.rig.desk.attachments.isEmpty)
    }
}
