import PostriderNotifications

/// A run of one seed from beginning to end.
struct Run {
    let events: Int
    let findings: [Finding]
    /// How often a device was asked to come back later during a reconnect storm.
    let deferrals: Int
    /// A one-line summary of the run.
    let summary: String

    /// The number of drawn steps before the end phase. Some of them are impossible when they are drawn.
    static let steps = 15_000

    init(seed: UInt64, fault: DeliberateFault? = nil) throws {
        let world = try World(seed: seed, fault: fault)
        for _ in 0..<Self.steps where world.findings.first == nil { try world.step() }
        world.finish()
        let accepted = world.pushes.all.count { $0.status == 200 }
        events = world.events
        findings = world.findings.all
        deferrals = world.formerDeferrals + world.relay.deferrals
        summary =
            "\(world.events) events, \(world.lives) lives, \(world.pushes.all.count) pushes, "
            + "\(accepted) accepted, \(world.deliveries) deliveries, \(world.welcomes) welcomes, "
            + "\(deferrals) deferrals, "
            + "\(world.channels.broadcasts.count) broadcasts, \(world.channels.heard) heard, "
            + "\(world.channels.replayed) replayed, \(world.web.messages.count) messages, "
            + "\(world.web.deliveries) in browsers, \(world.web.receipts.count) receipts"
        world.end()
    }
}
