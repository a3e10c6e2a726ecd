import PostriderYAML
import Testing

@testable import PostriderLoad

@Suite("A scenario")
struct ScenarioTests {
    private static let lunch = """
        name: lunch
        main: noon
        seed: 7
        fleet: {devices: 500, apps: 2, providers: 3, streams: 100, threads: 2, sources: 4, handshakes: 64}
        steps:
          - {do: connect, percent: 80, phase: morning}
          - {do: start, rate: 500, stored: false}
          - {do: hold, for: 5s}
          - {do: leave, percent: 50, phase: noon}
          - {do: cut, percent: 10}
          - {do: storm}
          - {do: broadcast, count: 20, rate: 10, payload: 64}
          - {do: stop}
          - {do: push, in-flight: 64, count: 10000, payload: 1000, phase: rush}
          - {do: drain, within: 10s}
        """

    @Test("of a file is the plan that stands there")
    func file() throws {
        let plan = try LoadPlan(text: Self.lunch, file: "lunch.yaml")
        #expect(plan.name == "lunch" && plan.mainPhase == "noon" && plan.seed == 7)
        #expect(plan.fleet.devices == 500 && plan.fleet.apps == 2 && plan.fleet.providers == 3)
        #expect(plan.fleet.threads == 2 && plan.fleet.sources == 4 && plan.fleet.handshakes == 64)
        #expect(plan.fleet.connectionsPerSecond == nil)
        #expect(plan.phases == ["morning", "noon", "rush"])
        var (day, rush) = (LoadPlan.Traffic(), LoadPlan.Traffic())
        day.pace = .perSecond(500)
        day.isStored = false
        rush.pace = .inFlight(64)
        rush.count = 10_000
        rush.payloadBytes = 1000
        #expect(
            plan.steps.map(\.action) == [
                .connect(percent: 80), .start(day), .hold(milliseconds: 5000),
                .disconnect(percent: 50, isOrderly: true), .disconnect(percent: 10, isOrderly: false),
                .storm(percent: 100), .broadcast(count: 20, perSecond: 10, payloadBytes: 64), .stop,
                .push(rush, milliseconds: nil), .drain(milliseconds: 10_000),
            ])
        #expect(plan.needsDevices)
    }

    @Test("of a file can have its devices connect at a rate")
    func connectRate() throws {
        let text = "name: calm\nfleet: {connect-rate: 300}\nsteps: [{do: connect}]\n"
        #expect(try LoadPlan(text: text, file: "calm.yaml").fleet.connectionsPerSecond == 300)
    }

    @Test(
        "of a file with a mistake is told with its place",
        arguments: [
            (
                "- {do: connect, percent: 80, phase: morning}", "- {do: fly}",
                "yaml:6:10: 'steps[0].do' must be"
            ),
            ("main: noon", "main: dawn", "lunch.yaml:2:7: 'main' must be the phase of a step, not 'dawn'"),
            ("phase: noon", "phase: High Noon", "'steps[3].phase' must be lower-case"),
            (", count: 10000", "", "'steps[8].for' or 'count' must say when the pushes end"),
            ("rate: 500", "rate: 500, in-flight: 9", "'steps[1].rate' and 'in-flight' are two ways"),
            ("percent: 50", "percent: 500", "must be a whole number from 0 to 100, not '500'"),
            ("seed: 7", "sead: 7", "did you mean 'seed'?"),
            ("do: drain, within: 10s", "do: drain, count: 3", "'steps[9].count' is not a setting"),
        ])
    func mistakes(_ right: String, _ wrong: String, _ sentence: String) {
        let text = Self.lunch.replacing(right, with: wrong)
        #expect(text != Self.lunch)
        let error = #expect(throws: YAMLError.self) { try LoadPlan(text: text, file: "lunch.yaml") }
        #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
    }

    @Test(
        "that is built in has a phase that counts, and ends what it starts",
        arguments: LoadScenario.allCases)
    func builtIn(_ scenario: LoadScenario) {
        let plan = scenario.plan(LoadScenario.Settings())
        #expect(plan.name == scenario.rawValue)
        #expect(plan.phases.contains(plan.mainPhase))
        #expect(plan.steps.first?.phase != nil)
        #expect(plan.steps.allSatisfy { $0.phase != "" })
        let starts = plan.steps.count { if case .start = $0.action { true } else { false } }
        #expect(starts == plan.steps.count { $0.action == .stop })
    }

    @Test("takes on what is set of it")
    func settings() {
        var settings = LoadScenario.Settings()
        settings.devices = 7
        settings.threads = 2
        settings.perSecond = 300
        settings.milliseconds = 2000
        settings.isNowOrNever = true
        settings.areAbsent = true
        settings.warmUpMilliseconds = 0
        let plan = LoadScenario.push.plan(settings)
        #expect(plan.fleet.devices == 7 && plan.fleet.threads == 2)
        var traffic = LoadPlan.Traffic()
        traffic.pace = .perSecond(300)
        traffic.isStored = false
        traffic.isAwaited = false
        #expect(
            plan.steps.map(\.action) == [
                .connect(percent: 100), .disconnect(percent: 100, isOrderly: true),
                .push(traffic, milliseconds: 2000),
            ])
        settings.warmUpMilliseconds = 500
        settings.areAbsent = false
        let warm = LoadScenario.push.plan(settings).steps.map { ($0.phase, $0.action) }
        #expect(warm.map(\.0) == ["connect", "warm-up", nil, "push", "drain"])
        #expect(warm[2].1 == .drain(milliseconds: 30_000), "nothing of the warm-up comes in the main phase")
    }
}
