import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("How the relay is asked to send what waits")
struct ReceptionTests {
    private let topic = RecordedApp.topic

    private static let cases: [(app: ReceptionPolicy.App, choice: ReceptionPolicy.Choice)] = [
        (app(isAttached: true), .enabled),
        (app(isAttached: true, status: .denied), .enabled),
        (app(isAttached: true, isStartable: true, status: .denied), .enabled),
        (app(), .opportunistic),
        (app(status: .denied), .opportunistic),
        (app(status: .authorized), .enabled),
        (app(isStartable: true), .enabled),
        (app(isStartable: true, status: .authorized), .enabled),
        (app(isStartable: true, status: .denied), .ignored),
        (app(isStartable: true, mayRunInBackground: true, status: .denied), .enabled),
    ]

    private static func app(
        isAttached: Bool = false, isStartable: Bool = false, mayRunInBackground: Bool = false,
        status: AuthorizationStatus = .notDetermined
    ) -> ReceptionPolicy.App {
        ReceptionPolicy.App(
            topic: "com.example.one", isAttached: isAttached, isStartable: isStartable,
            mayRunInBackground: mayRunInBackground, status: status)
    }

    @Test("follows from whether an app runs, can be started, and may", arguments: cases.indices)
    func policy(_ index: Int) {
        let (app, choice) = Self.cases[index]
        #expect(app.choice == choice)
        let reception = ReceptionPolicy.reception(of: [app], savesPower: false)
        #expect(reception.opportunistic == (choice == .opportunistic ? [app.topic] : []))
        #expect(reception.ignored == (choice == .ignored ? [app.topic] : []))
    }

    @Test("is said when an app comes, goes or is declared, once for each turn, and not while nothing changes")
    func changes() throws {
        let rig = try DeskRig()
        let app = rig.attached()
        #expect(rig.line.receptions.last == Reception())
        let count = rig.line.receptions.count
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(rig.desk.handled([1], by: app.stream))
        rig.desk.endTurn()
        #expect(rig.line.receptions.count == count)
        rig.desk.left(app.stream)
        rig.desk.endTurn()
        #expect(rig.line.receptions.last == Reception(opportunistic: [topic]))
        _ = rig.keeper.declare([.sample(mayRunInBackground: false)])
        rig.desk.endTurn()
        #expect(rig.line.receptions.last == Reception())
        let other = RecordedApp()
        rig.desk.center.attach(topic, for: other.stream)
        #expect(try rig.desk.center.decide(.denied, about: topic))
        rig.desk.left(other.stream)
        rig.desk.endTurn()
        #expect(rig.line.receptions.last == Reception(ignored: [topic]))
        rig.desk.savesPower = true
        rig.desk.endTurn()
        #expect(rig.line.receptions.last == Reception(savesPower: true, ignored: [topic]))
    }

    @Test("wants what is for a closed app that may notify at once, and shows it", .bug(id: "A2"))
    func closedApp() throws {
        let rig = try CenterRig()
        let presenter = Presenter(
            rig.rig.ground.state, desk: rig.rig.desk, manifests: [], line: nil, scheduler: rig.rig.clock,
            log: .none)
        rig.rig.desk.presenter = presenter
        rig.rig.desk.register(topic, for: rig.app.stream)
        rig.rig.desk.left(rig.app.stream)
        rig.endTurn()
        #expect(rig.rig.line.receptions.last == Reception())
        rig.rig.desk.delivered(.sample(1, identity: 1, payload: #"{"aps":{"alert":"b"}}"#))
        rig.rig.desk.delivered(.sample(2, identity: 2, payload: #"{"aps":{"content-available":1}}"#))
        rig.endTurn()
        #expect(presenter.alerts.map(\.content.body) == ["b"])
        // Notifications for the app's code wait for the app.
        let app = rig.rig.attached()
        #expect(app.identities == [1, 2])
        #expect(try rig.center.decide(.denied, about: topic))
        rig.rig.desk.left(app.stream)
        rig.endTurn()
        #expect(rig.rig.line.receptions.last == Reception(opportunistic: [topic]))
    }

    @Test("does not wake the device for an app in a crash loop")
    func crashLoop() throws {
        let rig = try DeskRig(manifests: [.sample()])
        rig.desk.left(rig.attached().stream)
        rig.arrive(1)
        rig.desk.endTurn()
        for count in 1...Limits.crashLoopExits {
            #expect(rig.line.receptions.last == Reception())
            rig.launcher.processes[count - 1].end(.exited(1))
            rig.desk.endTurn()
            rig.clock.fireTimers()
            rig.desk.endTurn()
        }
        #expect(rig.line.receptions.contains(Reception(opportunistic: [topic])))
    }

    @Test("follows what supplies the device")
    func supply() throws {
        let scratch = Scratch()
        func write(_ name: String, _ files: [String: String]) throws {
            let directory = scratch.path + "/" + name
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            for (file, text) in files {
                try (text + "\n").write(toFile: directory + "/" + file, atomically: true, encoding: .utf8)
            }
        }
        func isOnBattery() -> Bool { PowerSupply.isOnBattery(scratch.path) }
        #expect(!isOnBattery() && !PowerSupply.hasBattery(scratch.path))
        try write("MOUSE", ["type": "Battery", "scope": "Device", "status": "Discharging"])
        #expect(!isOnBattery() && !PowerSupply.hasBattery(scratch.path))
        let clock = StandingClock()
        let supply = PowerSupply(scratch.path, on: clock)
        var told: [Bool] = []
        try write("BAT0", ["type": "Battery", "status": "Charging"])
        try write("AC", ["type": "Mains", "online": "1"])
        supply.start { told.append($0) }
        #expect(told.isEmpty && PowerSupply.hasBattery(scratch.path))
        try write("AC", ["online": "0"])
        try write("BAT0", ["status": "Discharging"])
        clock.fireTimers()
        clock.fireTimers()
        #expect(told == [true])
        try write("AC", ["online": "1"])
        clock.fireTimers()
        #expect(told == [true, false])
    }
}
