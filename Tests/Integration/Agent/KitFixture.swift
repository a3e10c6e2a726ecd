import Dispatch
import Foundation
import PostriderCourier
import PostriderKit
import PostriderNotifications

@testable import PostriderAgent

/// A real agent's router, and applications of the kit that are registered there.
final class KitFixture: Sendable {
    let agent: AgentFixture
    let queue = DispatchQueue(label: "kit-stage")
    private let scratch = Scratch()

    init() throws { agent = try AgentFixture(scratch) }

    func application(_ dispatcher: NotificationDispatcher) -> Application {
        Application(topic: RecordedApp.topic, socketPath: scratch.socket, dispatcher: dispatcher)
    }

    /// Starts an application and registers it.
    func register(_ dispatcher: NotificationDispatcher) async throws -> Application {
        let application = application(dispatcher)
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        await agent.on {
            $0.registrations.registered(Registered(topic: RecordedApp.topic, deviceToken: .sample(1)))
        }
        _ = try await token
        return application
    }

    /// Delivers pushes whose texts are their numbers.
    func push(_ numbers: ClosedRange<UInt64>) async {
        for number in numbers {
            await agent.deliver(
                .sample(
                    number, identity: number, topic: RecordedApp.topic, payload: #"{"text":"\#(number)"}"#))
        }
    }

    /// Returns when the agent has processed everything that the application has sent before.
    func roundTrip(_ application: Application) async throws {
        _ = try await application.userNotificationCenter.authorizationStatus()
    }

    /// The numbers of the pushes that the agent still holds.
    func waiting() async -> [UInt64] {
        await agent.on { parts in
            guard let record = parts.state.apps[RecordedApp.topic] else { return [] }
            var numbers: [UInt64] = []
            try? parts.state.inbox.forEachPending(of: record.number, after: 0) { _, parcel in
                numbers.append(parcel.identity.low)
                return true
            }
            return numbers
        }
    }

    /// The number of failures that the agent has counted.
    func failures() async -> Int { await agent.on { $0.attempts.reduce(0, +) } }

    /// Lets the pause after a failure pass, so that the notifications are delivered again.
    func letRetry() async {
        await agent.on { parts in
            parts.clock.pass(milliseconds: 10_000)
            parts.deliveries.redelivery.releaseDue()
        }
    }
}

extension RemoteNotificationDidArrive {
    /// The text of a sample of this folder.
    var text: String { userInfo["text"]?.string ?? "no text" }
}
