import Dispatch
import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderAgent

/// Which notifications an application of the kit confirms to a real agent, and when.
@Suite("A notification is confirmed when the app has handled it", .timeLimit(.minutes(10)))
struct ConfirmationKitTests {
    private let stage: KitFixture

    init() throws { stage = try KitFixture() }

    @Test(
        "by a loop at its next turn: of five pushes, those after the first wait at the agent", .bug(id: "K1"))
    func loop() async throws {
        let dispatcher = NotificationDispatcher()
        let (seen, reached) = (Journal<String>(), Journal<String>())
        let (gate, open) = AsyncStream<Void>.makeStream()
        let first = try await stage.register(dispatcher)
        let witness = dispatcher.addObserver(of: RemoteNotificationDidArrive.self) { seen.note($0.text) }
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: first)
        let loop = Task {
            for await push in pushes {
                reached.note(push.text)
                if push.text == "2" { for await _ in gate {} }
            }
        }
        await stage.push(1...5)
        #expect(await seen.first(5).count == 5)
        #expect(await reached.first(2) == ["1", "2"])
        try await stage.roundTrip(first)
        #expect(await stage.waiting() == [2, 3, 4, 5])

        // The next process of the app comes while the first one is still attached.
        let next = NotificationDispatcher()
        let (again, second) = (Journal<String>(), stage.application(next))
        let observation = next.addObserver(of: RemoteNotificationDidArrive.self) { again.note($0.text) }
        _ = try await second.registerForRemoteNotifications()
        #expect(await again.first(4) == ["2", "3", "4", "5"])
        open.finish()
        await second.end()
        await first.end()
        await loop.value
        withExtendedLifetime((witness, observation)) {}
        await stage.agent.kill()
    }

    @Test("and a slow loop keeps the agent from handing over more, and loses nothing", .bug(id: "K1"))
    func pressure() async throws {
        let dispatcher = NotificationDispatcher()
        let seen = Journal<String>()
        let (gate, open) = AsyncStream<Void>.makeStream()
        let application = try await stage.register(dispatcher)
        let witness = dispatcher.addObserver(of: RemoteNotificationDidArrive.self) { seen.note($0.text) }
        let pushes = dispatcher.notifications(
            of: RemoteNotificationDidArrive.self, sender: application, limit: 4)
        let loop = Task {
            var texts: [String] = []
            for await push in pushes {
                if texts.isEmpty { for await _ in gate {} }
                texts.append(push.text)
                if texts.count == 200 { application.stop() }
            }
            return texts
        }
        await stage.push(1...200)
        #expect(await seen.first(Limits.appWindow).count == Limits.appWindow)
        try await stage.roundTrip(application)
        #expect(seen.events.count == Limits.appWindow)
        #expect(await stage.waiting().count == 200)
        open.finish()
        #expect(await loop.value == (1...200).map(String.init))
        await application.untilEnd()
        #expect(await stage.waiting().isEmpty)
        withExtendedLifetime(witness) {}
        await stage.agent.kill()
    }

    @Test(
        "not by a loop that is left in the middle, which is handed it again with all that came behind it",
        .bug(id: "K1"))
    func leaving() async throws {
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        await stage.push(1...4)
        var texts: [String] = []
        for await push in pushes {
            texts.append(push.text)
            if push.text == "2" { break }
        }
        #expect(texts == ["1", "2"])
        // Nobody observes the notifications now, nor those that arrive after the loop.
        while await stage.failures() < 3 { await Task.yield() }
        #expect(await stage.waiting() == [2, 3, 4])

        let again = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        await stage.letRetry()
        for await push in again {
            texts.append(push.text)
            again.complete(.noData)
            if push.text == "4" { break }
        }
        #expect(texts == ["1", "2", "2", "3", "4"])
        try await stage.roundTrip(application)
        #expect(await stage.waiting().isEmpty)
        await application.end()
        await stage.agent.kill()
    }

    @Test("not where nobody is left to handle it after it was given back: it becomes a dead letter")
    func nobody() async throws {
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        await stage.agent.on { $0.deliveries.mostAttempts = 2 }
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        await stage.push(1...1)
        for await _ in pushes {
            pushes.fail("The oven is cold.")
            break
        }
        while await stage.failures() < 1 { await Task.yield() }
        await stage.letRetry()
        while await stage.agent.on({ $0.letters.isEmpty }) { await Task.yield() }
        #expect(await stage.agent.on { $0.letters } == ["No part of the app observes this any more."])
        await application.end()
        await stage.agent.kill()
    }

    @Test(
        "when the last has finished: a loop, an asynchronous observer, one on a queue, one on the main actor")
    func severalObservers() async throws {
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        let done = Journal<String>()
        let (loopGate, openLoop) = AsyncStream<Void>.makeStream()
        let (taskGate, openTask) = AsyncStream<Void>.makeStream()
        stage.queue.suspend()
        let observations = [
            dispatcher.addObserver(of: RemoteNotificationDidArrive.self) { _ in done.note("sync") },
            dispatcher.addObserver(of: RemoteNotificationDidArrive.self, on: stage.queue) { _ in
                done.note("queue")
            },
            dispatcher.addObserver(of: RemoteNotificationDidArrive.self) { _ in
                for await _ in taskGate {}
                done.note("task")
                return .noData
            },
            dispatcher.addObserver(
                of: RemoteNotificationDidArrive.self,
                onMainActor: { _ in
                    MainActor.assertIsolated()
                    done.note("main actor")
                }),
        ]
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        let loop = Task {
            for await _ in pushes {
                for await _ in loopGate {}
                done.note("loop")
            }
        }
        await stage.push(1...1)
        _ = await done.first(2)
        let opening: [@Sendable () -> Void] = [{ openTask.finish() }, { openLoop.finish() }]
        for (number, open) in opening.enumerated() {
            open()
            _ = await done.first(3 + number)
            try await stage.roundTrip(application)
            #expect(await stage.waiting() == [1])
        }
        stage.queue.resume()
        while await !stage.waiting().isEmpty { await Task.yield() }
        #expect(Set(done.events) == ["sync", "main actor", "task", "loop", "queue"])
        await application.end()
        await loop.value
        withExtendedLifetime(observations) {}
        await stage.agent.kill()
    }

    @Test("not when an asynchronous observer throws: the agent is told why", .bug(id: "K1"))
    func failure() async throws {
        struct Cold: Error, CustomStringConvertible {
            let description = "The oven is cold."
        }
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        await stage.agent.on { $0.deliveries.mostAttempts = 1 }
        let observations = [
            dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: application) { push in
                await Task.yield()
                switch push.userInfo["text"] {
                case "1": throw Cold()
                case "2": return .failed
                case "3": application.reportFailure("The tea is gone.")
                default: break
                }
                return .newData
            }
        ]
        await stage.push(1...4)
        while await stage.agent.on({ $0.letters.count < 3 }) { await Task.yield() }
        #expect(
            Set(await stage.agent.on { $0.letters }) == [
                "The oven is cold.", "The app said that it failed.", "The tea is gone.",
            ])
        while await !stage.waiting().isEmpty { await Task.yield() }
        await application.end()
        withExtendedLifetime(observations) {}
        await stage.agent.kill()
    }

    @Test(
        "and an application that is stopped waits for a loop at work, ends it, and leaves the rest unfailed")
    func stopping() async throws {
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        let begun = Journal<String>()
        let (gate, open) = AsyncStream<Void>.makeStream()
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        let loop = Task {
            var texts: [String] = []
            for await push in pushes {
                begun.note(push.text)
                for await _ in gate {}
                texts.append(push.text)
            }
            return texts
        }
        await stage.push(1...3)
        _ = await begun.first(1)
        application.stop()
        open.finish()
        await application.untilEnd()
        #expect(await loop.value == ["1"])
        #expect(await stage.waiting() == [2, 3])
        #expect(await stage.agent.on { $0.attempts } == [0, 0])
        await stage.agent.kill()
    }

    @Test("and a loop over the notifications of an application ends when nobody holds that any more")
    func release() async throws {
        let dispatcher = NotificationDispatcher()
        var application: Application? = stage.application(dispatcher)
        let pushes = dispatcher.notifications(of: RemoteNotificationDidArrive.self, sender: application)
        let loop = Task { await pushes.reduce(into: 0) { count, _ in count += 1 } }
        #expect(application?.deviceToken == nil)
        application = nil
        #expect(await loop.value == 0)
        await stage.agent.kill()
    }

    @Test("and the device sleeps when a loop has finished with that, too", .bug(id: "K1"))
    func sleep() async throws {
        let dispatcher = NotificationDispatcher()
        let application = try await stage.register(dispatcher)
        let journal = Journal<String>()
        await stage.agent.on { parts in parts.link.whenAsleep = { journal.note("asleep") } }
        let (gate, open) = AsyncStream<Void>.makeStream()
        let naps = dispatcher.notifications(of: DeviceWillSleep.self, sender: application)
        let loop = Task {
            for await _ in naps {
                journal.note("begun")
                for await _ in gate {}
                journal.note("done")
            }
        }
        await stage.agent.on { $0.system.willSleep() }
        _ = await journal.first(1)
        try await stage.roundTrip(application)
        #expect(journal.events == ["begun"])
        open.finish()
        #expect(await journal.first(3) == ["begun", "done", "asleep"])
        await application.end()
        await loop.value
        await stage.agent.kill()
    }
}
