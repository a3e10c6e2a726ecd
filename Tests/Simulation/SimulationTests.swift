import Foundation
import Testing

@Suite("The relay under a seed")
struct SimulationTests {
    /// `SIMULATION_SEED=17 swift test --filter SimulationTests` runs one seed; `SIMULATION_SEEDS=1-1000` a range.
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SIMULATION_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        let bounds = environment["SIMULATION_SEEDS"]?.split(separator: "-").compactMap { UInt64($0) } ?? []
        return bounds.count == 2 && bounds[0] <= bounds[1] ? Array(bounds[0]...bounds[1]) : Array(1...20)
    }()

    @Test("loses no promise, repeats none, keeps the order and answers everybody once", arguments: seeds)
    func world(_ seed: UInt64) throws {
        let world = try World(seed: seed)
        for _ in 0..<12000 { try world.step() }
        world.finish()
        defer { world.end() }
        let accepted = world.pushes.count { $0.status == 200 }
        #expect(accepted > 100 && world.deliveries > 100 && world.welcomes > 20, "seed \(seed) tests nothing")
        #expect(
            world.channels.heard > 10, "seed \(seed) tests nothing of channels"
        )
        if ProcessInfo.processInfo.environment["SIMULATION_SEED"] != nil {
            print(
                "seed \(seed): \(world.events) events, \(world.lives) lives, \(world.pushes.count) pushes,",
                "\(accepted) accepted, \(world.deliveries) deliveries, \(world.welcomes) welcomes,",
                "\(world.channels.broadcasts.count) broadcasts, \(world.channels.heard) heard,",
                "\(world.channels.replayed) replayed")
        }
    }
}
