import Courier
import Notifications

@testable import Agent

/// A desk with a recorded link, whose apps write down what they are told; it can be killed at any moment.
final class DeskRig {
    let ground: Ground
    let line = RecordedLine()
    let clock = StandingClock()
    private(set) var desk: AppDesk
    private let declarations: [String: UInt32]
    private var lastDelivery: UInt64 = 0

    init(declarations: [String: UInt32] = [:]) throws {
        ground = try Ground()
        self.declarations = declarations
        desk = AppDesk(ground.state, declarations: declarations, scheduler: clock, log: .none)
        desk.line = line
    }

    /// The agent is killed and comes back; all its streams and the link are gone.
    func kill() throws {
        try ground.kill()
        desk = AppDesk(ground.state, declarations: declarations, scheduler: clock, log: .none)
        desk.line = line
        line.acknowledged = []
        lastDelivery = 0
    }

    func arrive(_ identities: UInt64..., topic: String = "com.example.one") {
        for identity in identities {
            lastDelivery += 1
            desk.delivered(.sample(lastDelivery, identity: identity, topic: topic))
        }
    }
}

/// An app at a desk.
final class RecordedApp {
    static let topic = "com.example.one"

    var told: [AgentMessage] = []
    private(set) lazy var stream = AppStream(user: user) { [unowned self] in told.append($0) }
    private let user: UInt32

    init(user: UInt32 = 1000) { self.user = user }

    var delivered: [Deliver] {
        told.compactMap { if case .deliver(let deliver) = $0 { deliver } else { nil } }
    }
    var identities: [UInt64] { delivered.map(\.identity.low) }
}

extension DeskRig {
    /// An app of this user that has registered the usual topic.
    func attached(user: UInt32 = 1000) -> RecordedApp {
        let app = RecordedApp(user: user)
        desk.register(RecordedApp.topic, for: app.stream)
        desk.endTurn()
        return app
    }
}
