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
        let fixture = try RouterFixture()
        let app = fixture.attached()
        #expect(fixture.link.receptions.last == Reception())
        let count = fixture.link.receptions.count
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(fixture.deliveries.handled([1], by: app.stream))
        fixture.router.endTurn()
        #expect(fixture.link.receptions.count == count)
        fixture.router.left(app.stream)
        fixture.router.endTurn()
        #expect(fixture.link.receptions.last == Reception(opportunistic: [topic]))
        _ = fixture.lifecycle.declare([.sample(mayRunInBackground: false)])
        fixture.router.endTurn()
        #expect(fixture.link.receptions.last == Reception())
        let other = RecordedApp()
        fixture.registrations.attach(topic, for: other.stream)
        #expect(try fixture.authorizations.decide(.denied, about: topic))
        fixture.router.left(other.stream)
        fixture.router.endTurn()
        #expect(fixture.link.receptions.last == Reception(ignored: [topic]))
        fixture.reception.savesPower = true
        fixture.router.endTurn()
        #expect(fixture.link.receptions.last == Reception(savesPower: true, ignored: [topic]))
        fixture.reception.batteryPercent = 40
        fixture.router.endTurn()
        #expect(
            fixture.link.receptions.last
                == Reception(savesPower: true, ignored: [topic], batteryPercent: 40))
    }

    @Test("wants what is for a closed app that may notify at once, and shows it", .bug(id: "A2"))
    func closedApp() throws {
        let fixture = try CenterFixture()
        let presenter = fixture.fixture.presenter
        fixture.fixture.registrations.register(topic, for: fixture.app.stream)
        fixture.fixture.router.left(fixture.app.stream)
        fixture.endTurn()
        #expect(fixture.fixture.link.receptions.last == Reception())
        fixture.fixture.deliveries.delivered(.sample(1, identity: 1, payload: #"{"aps":{"alert":"b"}}"#))
        fixture.fixture.deliveries.delivered(
            .sample(2, identity: 2, payload: #"{"aps":{"content-available":1}}"#))
        fixture.endTurn()
        #expect(presenter.alerts.map(\.content.body) == ["b"])
        // Notifications for the app's code wait for the app.
        let app = fixture.fixture.attached()
        #expect(app.identities == [1, 2])
        #expect(try fixture.authorizations.decide(.denied, about: topic))
        fixture.fixture.router.left(app.stream)
        fixture.endTurn()
        #expect(fixture.fixture.link.receptions.last == Reception(opportunistic: [topic]))
    }

    @Test("does not wake the device for an app in a crash loop")
    func crashLoop() throws {
        let fixture = try RouterFixture(manifests: [.sample()])
        fixture.router.left(fixture.attached().stream)
        fixture.arrive(1)
        fixture.router.endTurn()
        for count in 1...Limits.crashLoopExits {
            #expect(fixture.link.receptions.last == Reception())
            fixture.launcher.processes[count - 1].end(.exited(1))
            fixture.router.endTurn()
            fixture.clock.fireTimers()
            fixture.router.endTurn()
        }
        #expect(fixture.link.receptions.contains(Reception(opportunistic: [topic])))
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
        var told: [PowerSupply.State] = []
        try write("BAT0", ["type": "Battery", "status": "Charging", "capacity": "80"])
        try write("AC", ["type": "Mains", "online": "1"])
        supply.start { told.append($0) }
        #expect(told == [.init(isOnBattery: false, batteryPercent: 80)])
        #expect(PowerSupply.hasBattery(scratch.path))
        try write("AC", ["online": "0"])
        try write("BAT0", ["status": "Discharging"])
        clock.fireTimers()
        clock.fireTimers()
        #expect(told.dropFirst() == [.init(isOnBattery: true, batteryPercent: 80)])
        // A small change is not worth a message.
        for (charge, count) in [("77", 2), ("76", 2), ("75", 3), ("nonsense", 4), ("101", 4), ("75", 5)] {
            try write("BAT0", ["capacity": charge])
            clock.fireTimers()
            #expect(told.count == count, "\(charge)")
        }
        try write("BAT1", ["type": "Battery", "status": "Full", "capacity": "95"])
        try write("AC", ["online": "1"])
        clock.fireTimers()
        #expect(told.last == .init(isOnBattery: false, batteryPercent: 85))
    }
}
