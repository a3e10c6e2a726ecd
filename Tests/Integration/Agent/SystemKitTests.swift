import Foundation
import PostriderCourier
import PostriderKit
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("What an app of the kit hears of the device", .timeLimit(.minutes(10)))
struct SystemKitTests {
    private let scratch = Scratch()
    private let dispatcher = NotificationDispatcher()
    private static let prefix = "postrider.system."

    private func attached(to agent: AgentFixture) async throws -> Application {
        let application = Application(
            topic: RecordedApp.topic, socketPath: scratch.socket, dispatcher: dispatcher)
        try application.start()
        while await agent.on({ $0.streams.attachments.isEmpty }) { await Task.yield() }
        return application
    }

    private func observe(_ journal: Journal<String>, in scope: NotificationScope? = nil) -> Observation {
        dispatcher.addObserver(in: scope) { notification in
            guard notification.name.isSystems else { return }
            journal.note(String(notification.name.rawValue.dropFirst(Self.prefix.count)))
        }
    }

    @Test("comes through the dispatcher, in order, each under its name")
    func names() async throws {
        let agent = try AgentFixture(scratch)
        let application = try await attached(to: agent)
        let journal = Journal<String>()
        let observation = observe(journal)
        await agent.on { parts in
            let system = parts.system
            for phase in LinkChange.Phase.allCases {
                system.tell(.link(LinkChange(phase: phase, relay: "r:1")))
            }
            parts.clockChanged(byMilliseconds: 0, zone: "GMT")
            parts.clockChanged(byMilliseconds: 1500, zone: "Asia/Tokyo")
            let frame = KeyboardFrame(x: 0, y: 5, width: 9, height: 4)
            _ = system.move(KeyboardOrder(frame: frame, durationMilliseconds: 1), by: nil)
            parts.clock.fireTimers()
        }
        #expect(
            await journal.first(10) == [
                "relayLinkWillConnect", "relayLinkDidConnect", "relayLinkWillDisconnect",
                "relayLinkDidDisconnect", "clockDidChange", "timeZoneDidChange", "keyboardWillChangeFrame",
                "keyboardWillShow", "keyboardDidChangeFrame", "keyboardDidShow",
            ])
        await application.end()
        await agent.kill()
        withExtendedLifetime(observation) {}
    }

    @Test("does not disturb a part of the app that is not on screen, and is not told it later")
    func scopes() async throws {
        let agent = try AgentFixture(scratch)
        let application = try await attached(to: agent)
        let (all, onScreen) = (Journal<String>(), Journal<String>())
        let screen = NotificationScope()
        let observations = [observe(onScreen, in: screen), observe(all)]
        for (round, isOn) in zip(0..., [true, false, true]) {
            if isOn { screen.switchOn() } else { screen.switchOff() }
            await agent.on { parts in
                let frame = KeyboardFrame(x: 0, y: Int32(round), width: 9, height: 4)
                _ = parts.system.move(KeyboardOrder(frame: round == 1 ? nil : frame), by: nil)
            }
            _ = await all.first(4 * (round + 1))
        }
        let shown = [
            "keyboardWillChangeFrame", "keyboardWillShow", "keyboardDidChangeFrame", "keyboardDidShow",
        ]
        #expect(onScreen.events == shown + shown)
        #expect(all.events.count == 12)
        await application.end()
        await agent.kill()
        withExtendedLifetime(observations) {}
    }

    @Test("comes before the device sleeps, which waits until its observers have returned")
    func sleep() async throws {
        let agent = try AgentFixture(scratch)
        let application = try await attached(to: agent)
        let (journal, gate) = (Journal<String>(), DispatchSemaphore(value: 0))
        await agent.on { parts in parts.link.whenAsleep = { journal.note("asleep") } }
        let observations = [
            dispatcher.addObserver(of: DeviceWillSleep.self) { _ in
                gate.wait()
                journal.note("observed")
            },
            dispatcher.addObserver(of: DeviceDidWake.self) { _ in journal.note("awake") },
        ]
        await agent.on { $0.system.willSleep() }
        gate.signal()
        #expect(await journal.first(2) == ["observed", "asleep"])
        await agent.on { $0.system.didWake() }
        #expect(await journal.first(3).last == "awake")
        await application.end()
        await agent.kill()
        withExtendedLifetime(observations) {}
    }
}
