import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("A service extension, as a real process", .timeLimit(.minutes(10)))
struct ServiceExtensionTests {
    private let scratch = Scratch()
    private static let topic = RecordedApp.topic
    private static let payload = #"{"aps":{"alert":{"title":"closed","body":"b"},"mutable-content":1}}"#

    private func agent(_ program: String, _ arguments: [String]) throws -> AgentFixture {
        var manifest = AppManifest(topic: Self.topic, user: getuid(), program: "/bin/true")
        manifest.serviceExtension = AppManifest.ServiceExtension(program: program, arguments: arguments)
        return try AgentFixture(scratch, manifests: [manifest])
    }

    private func script(_ text: String) throws -> AgentFixture { try agent("/bin/sh", ["-c", text]) }

    /// Delivers a push for an app that may alert, and returns the payload that the app gets.
    private func push(_ agent: AgentFixture, _ identity: UInt64, _ payload: String = payload) async -> [UInt8]
    {
        await agent.on { parts in
            let app = RecordedApp()
            parts.registrations.register(Self.topic, for: app.stream)
            parts.registrations.attach(Self.topic, for: app.stream)
            _ = try? parts.authorizations.decide(.authorized, about: Self.topic)
            parts.deliveries.delivered(
                .sample(identity, identity: identity, topic: Self.topic, payload: payload))
            parts.router.endTurn()
            return app.delivered.last?.payload ?? []
        }
    }

    private func titles(_ agent: AgentFixture) async -> [String] {
        while await agent.on({ $0.presenter.alerts.isEmpty }) { await Task.yield() }
        return await agent.on { $0.presenter.alerts.map(\.content.title) }
    }

    private func delivered(_ agent: AgentFixture) async -> [String] {
        await agent.on { parts in
            guard let record = parts.state.apps[Self.topic] else { return [] }
            let notices = try? parts.state.schedule.notices(of: record.number, .delivered)
            return notices?.map(\.request.content.title) ?? []
        }
    }

    @Test("changes what is shown and listed, and not what the app is handed", .bug(id: "K6"))
    func change() async throws {
        let agent = try agent("/bin/sed", ["s/closed/open/"])
        #expect(await push(agent, 1) == Array(Self.payload.utf8))
        #expect(await titles(agent) == ["open"])
        #expect(await delivered(agent) == ["open"])
        await agent.kill()
    }

    @Test("is not started for a push that does not ask for it", .bug(id: "K6"))
    func immutable() async throws {
        let agent = try agent("/bin/sed", ["s/closed/open/"])
        _ = await push(agent, 1, #"{"aps":{"alert":{"title":"closed"}}}"#)
        #expect(await titles(agent) == ["closed"])
        await agent.kill()
    }

    static let failures = [
        "exit 3", "echo no JSON", "echo '[]'", #"echo '{"aps":{"alert":""}}'"#, "kill -9 $$",
        "head -c 100000 /dev/zero; sleep 1000", "sed s/closed/open/; exit 1", "exec 1>&-",
    ]

    @Test("that fails leaves the alert as it came", .bug(id: "K6"), arguments: failures)
    func failure(_ text: String) async throws {
        let agent = try script(text)
        _ = await push(agent, 1)
        #expect(await titles(agent) == ["closed"])
        #expect(await delivered(agent) == ["closed"])
        await agent.kill()
    }

    @Test("that is not there leaves the alert as it came", .bug(id: "K6"))
    func noProgram() async throws {
        let agent = try agent("/nonexistent/program", [])
        _ = await push(agent, 1)
        #expect(await titles(agent) == ["closed"])
        await agent.kill()
    }

    @Test("is told that its time is nearly up, and its last word counts", .bug(id: "K6"))
    func expiry() async throws {
        let marker = scratch.path + "/runs"
        let agent = try script(
            """
            trap 'sed s/closed/late/; exit 0' TERM
            touch \(marker); while :; do sleep 0.01; done
            """)
        _ = await push(agent, 1)
        while !FileManager.default.fileExists(atPath: marker) { await Task.yield() }
        await agent.on { $0.clock.fireTimers() }
        #expect(await titles(agent) == ["late"])
        await agent.kill()
    }

    @Test("that does not end in time is ended with all that it has started", .bug(id: "K6"))
    func timeout() async throws {
        let marker = scratch.path + "/child"
        let agent = try script(
            "trap '' TERM; sleep 1000 & echo $! > \(marker).new; mv \(marker).new \(marker); wait; wait")
        _ = await push(agent, 1)
        while !FileManager.default.fileExists(atPath: marker) { await Task.yield() }
        await agent.on { $0.clock.fireTimers() }
        #expect(await agent.on { $0.presenter.alerts.isEmpty })
        await agent.on { $0.clock.fireTimers() }
        #expect(await titles(agent) == ["closed"])
        let text = try String(contentsOfFile: marker, encoding: .utf8)
        let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        while isRunning(child) { await Task.yield() }
        await agent.kill()
    }

    /// Returns false for a process that has ended, even if its parent has not waited for it.
    private func isRunning(_ process: Int32) -> Bool {
        let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return text.map { !$0.contains(") Z ") } ?? false
    }

    @Test(
        "is started again by the successor of an agent that was killed, and the alert is shown once",
        .bug(id: "K6"))
    func kill() async throws {
        let marker = scratch.path + "/first"
        let text = "test -e \(marker) && exec sed s/closed/open/; echo $$ > \(marker); exec sleep 1000"
        var agent = try script(text)
        _ = await push(agent, 1)
        while (try? String(contentsOfFile: marker, encoding: .utf8))?.contains("\n") != true {
            await Task.yield()
        }
        await agent.kill()
        let first = try String(contentsOfFile: marker, encoding: .utf8)
        if let number = Int32(first.trimmingCharacters(in: .whitespacesAndNewlines)) {
            _ = Foundation.kill(number, SIGKILL)
            // Nobody else waits for this child, and exit tests do not end while such a child exists.
            _ = waitpid(number, nil, 0)
        }
        agent = try script(text)
        #expect(await titles(agent) == ["open"])
        #expect(await delivered(agent) == ["open"])
        await agent.kill()
        // A notification on the screen is not changed a second time.
        agent = try script("sed s/open/twice/")
        #expect(await titles(agent) == ["open"])
        await agent.kill()
    }
}

/// A runner that starts nothing and ends a run when the test says so.
private final class RecordedRunner: ProgramRunner {
    final class Process: AppProcess {
        let identifier: Int32 = 1
        let startedAt: UInt64 = 1
        let topic: String
        let ended: (ProgramResult) -> Void
        var isKilled = false
        init(_ topic: String, _ ended: @escaping (ProgramResult) -> Void) {
            (self.topic, self.ended) = (topic, ended)
        }
        func terminate() {}
        func kill() { isKilled = true }
    }
    var processes: [Process] = []

    func run(
        _ service: AppManifest.ServiceExtension, of manifest: AppManifest, input: [UInt8],
        ended: @escaping (ProgramResult) -> Void
    ) throws -> any AppProcess {
        processes.append(Process(manifest.topic, ended))
        return processes[processes.count - 1]
    }
}

@Suite("Service extensions and their turns")
struct ServiceExtensionTurnTests {
    private let runner = RecordedRunner()
    private let clock = StandingClock()
    private let journal = Journal<String>()
    private let extensions: ServiceExtensions

    init() {
        extensions = ServiceExtensions(
            runner, scheduler: clock,
            log: Log { [journal] level, text in if level < .debug { journal.note(text) } })
    }

    private func change(_ topic: String, _ identity: UInt64, _ done: @escaping (Alert?) -> Void = { _ in })
        throws
    {
        var manifest = AppManifest(topic: topic, user: 0, program: "/bin/true")
        manifest.serviceExtension = AppManifest.ServiceExtension(program: "/bin/true")
        let payload = #"{"aps":{"alert":"b","mutable-content":1}}"#
        let parcel = InboxContent.remote(.sample(1, identity: identity, topic: topic, payload: payload))
        extensions.change(try #require(Alert(parcel, of: 1)), of: manifest, done)
    }

    private let good = ProgramResult(ending: .exited(0), output: Array(#"{"aps":{"alert":"c"}}"#.utf8))

    @Test("are four at once, and one of each app, in the order in which alerts came", .bug(id: "K6"))
    func turns() throws {
        var done: [String] = []
        for topic in ["a.a", "a.a", "a.b", "a.c", "a.d", "a.e"] {
            let number = UInt64(done.count)
            try change(topic, number) { done.append("\(topic) \($0?.content.body ?? "-")") }
        }
        #expect(runner.processes.map(\.topic) == ["a.a", "a.b", "a.c", "a.d"])
        runner.processes[1].ended(good)
        #expect(runner.processes.map(\.topic).last == "a.e" && done == ["a.b c"])
        runner.processes[0].ended(good)
        #expect(runner.processes.map(\.topic).last == "a.a" && done == ["a.b c", "a.a c"])
    }

    @Test("are not waited for beyond their time, nor by more alerts than their bound", .bug(id: "K6"))
    func bounds() throws {
        var shown = 0
        for number in 0..<UInt64(Limits.waitingExtensions + 3) {
            try change("a.a", number) { _ in shown += 1 }
        }
        #expect(shown == 3 && runner.processes.count == 1)
        clock.fireTimers()
        clock.fireTimers()
        while shown < Limits.waitingExtensions + 3 { clock.fireTimers() }
        let survivors = runner.processes.count { !$0.isKilled }
        #expect(survivors == 0)
    }

    @Test("that fail are told once, until one has succeeded; those that are cancelled end", .bug(id: "K6"))
    func failures() throws {
        for result in [
            ProgramResult(ending: .exited(1), output: []), .init(ending: .killed(9), output: []), good,
            .init(ending: .exited(0), output: [], isCut: true),
        ] {
            try change("a.a", 1)
            runner.processes.last?.ended(result)
        }
        #expect(journal.events.count == 2)
        #expect(journal.events.first?.contains("ended with exit code 1") == true)
        try change("a.a", 7)
        #expect(extensions.cancel { $0.key.topic == "a.a" }.count == 1)
        #expect(runner.processes.last?.isKilled == true)
    }
}
