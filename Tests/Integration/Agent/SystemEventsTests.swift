import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What happens to the device, at the router")
struct SystemEventsTests {
    private let fixture: RouterFixture
    private var lock: RecordedLock { fixture.sleepLock }
    private var system: SystemEvents { fixture.system }

    init() throws { fixture = try RouterFixture() }

    private func events(_ app: RecordedApp) -> [SystemEvent] {
        app.told.compactMap { if case .system(let event) = $0 { event } else { nil } }
    }

    private func clockChanged(byMilliseconds shift: Int64, zone: String) {
        fixture.zone = zone
        system.clockChanged(byMilliseconds: shift)
    }

    private func app(_ topic: String, of user: UInt32 = 1000) -> RecordedApp {
        let app = RecordedApp(user: user)
        fixture.registrations.register(topic, for: app.stream)
        return app
    }

    @Test("is told to every app that is attached, once on each stream, and to none that comes later")
    func everybody() {
        let apps = [app("com.example.one"), app("com.example.two", of: 7)]
        fixture.registrations.register("com.example.three", for: apps[0].stream)
        let event = SystemEvent.link(LinkChange(phase: .didConnect, relay: "r:1"))
        system.tell(event)
        for app in apps { #expect(events(app) == [event]) }
        fixture.router.left(apps[0].stream)
        system.tell(event)
        #expect(events(apps[0]).count == 1 && events(apps[1]).count == 2)
        #expect(events(app("com.example.four")).isEmpty)
    }

    @Test("is not told to an app that does not take what it is told")
    func deafness() {
        var told: [AgentMessage] = []
        let stream = AppStream(user: 1, countUnsent: { Limits.unsentBytesPerStream }) { told.append($0) }
        fixture.registrations.register("com.example.one", for: stream)
        told = []
        system.tell(.power(PowerChange(phase: .didWake, sleep: 1)))
        #expect(told.isEmpty)
    }

    @Test("lets the device sleep when all apps are ready for it, and takes the lock again when it is awake")
    func sleep() {
        var steps: [String] = []
        fixture.link.whenAsleep = { steps.append("asleep") }
        fixture.link.whenAwake = { steps.append("awake") }
        let (first, second) = (app("com.example.one"), app("com.example.two"))
        system.willSleep()
        #expect(events(first) == [.power(PowerChange(phase: .willSleep, sleep: 1))])
        system.ready(first.stream, for: 1)
        system.ready(first.stream, for: 1)
        system.ready(second.stream, for: 7)
        #expect(lock.done.isEmpty && steps.isEmpty)
        system.ready(second.stream, for: 1)
        #expect(lock.done == ["release"] && steps == ["asleep"])
        system.didWake()
        #expect(lock.done == ["release", "take"] && steps == ["asleep", "awake"])
        #expect(events(second).last == .power(PowerChange(phase: .didWake, sleep: 1)))
    }

    @Test("waits neither for an app that goes, nor for ever, nor for nobody")
    func patience() {
        let (first, second) = (app("com.example.one"), app("com.example.two"))
        system.willSleep()
        fixture.router.left(first.stream)
        #expect(lock.done.isEmpty)
        fixture.clock.fireTimers()
        #expect(lock.done == ["release"])
        system.didWake()
        fixture.router.left(second.stream)
        system.willSleep()
        #expect(lock.done == ["release", "take", "release"])
        fixture.clock.fireTimers()
        #expect(lock.done.count == 3)
    }

    @Test("tells of a clock that was set and of another zone, and of neither where nothing is changed")
    func clock() {
        clockChanged(byMilliseconds: 0, zone: "GMT")
        let app = app("com.example.one")
        clockChanged(byMilliseconds: 0, zone: "GMT")
        #expect(events(app).isEmpty)
        clockChanged(byMilliseconds: -5, zone: "GMT")
        clockChanged(byMilliseconds: 0, zone: "Asia/Tokyo")
        clockChanged(byMilliseconds: 7, zone: "Europe/Berlin")
        #expect(
            events(app) == [
                .clock(ClockChange(shiftMilliseconds: -5)), .clock(ClockChange(timeZone: "Asia/Tokyo")),
                .clock(ClockChange(shiftMilliseconds: 7, timeZone: "Europe/Berlin")),
            ])
    }

    @Test(
        "tells an app what holds as it attaches, once on each stream, after its life and before all else",
        .bug(id: "A4"))
    func greeting() throws {
        clockChanged(byMilliseconds: 0, zone: "Europe/Berlin")
        let link = LinkChange(phase: .didDisconnect, relay: "r:1", reason: "cut")
        system.tell(.link(link))
        let frame = KeyboardFrame(x: 0, y: 5, width: 9, height: 4)
        _ = system.move(KeyboardOrder(frame: frame, durationMilliseconds: 250), by: nil)
        var told: [AgentMessage] = []
        let stream = AppStream(user: 1000) { told.append($0) }
        fixture.registrations.register("com.example.one", for: stream)
        fixture.registrations.attach("com.example.two", for: stream)
        let state = DeviceState(link: link, keyboard: frame, timeZone: "Europe/Berlin")
        #expect(told.first == .deviceState(state))
        #expect(told.count { if case .deviceState = $0 { true } else { false } } == 1)
        fixture.clock.fireTimers()
        #expect(!told.contains { if case .system = $0 { true } else { false } })
        // An app that registers learns its authorization too, if it has a notification center.
        let again = app("com.example.two")
        #expect(again.states == [state])
        #expect(
            again.told.first
                == .authorization(Authorization(topic: "com.example.two", status: .notDetermined)))
    }

    @Test(
        "tells a movement's end when its time is over, and hides the keyboard of a broken input method"
    )
    func keyboard() {
        func phases(_ app: RecordedApp) -> [KeyboardChange.Phase] {
            events(app).compactMap { if case .keyboard(let change) = $0 { change.phase } else { nil } }
        }
        let app = app("com.example.one")
        let (first, second) = (InputMethod(), InputMethod())
        let frame = KeyboardFrame(x: 0, y: 5, width: 9, height: 4)
        #expect(system.move(KeyboardOrder(frame: frame, durationMilliseconds: 100), by: first))
        #expect(phases(app) == [.willChangeFrame, .willShow])
        fixture.clock.fireTimers()
        #expect(phases(app).suffix(2) == [.didChangeFrame, .didShow])
        // Another input method has a keyboard of the same frame: from now on the keyboard belongs to that one.
        #expect(!system.move(KeyboardOrder(frame: frame), by: second))
        system.left(first, isBroken: true)
        system.left(second, isBroken: false)
        #expect(phases(app).count == 4)
        system.left(second, isBroken: true)
        #expect(phases(app).suffix(4) == [.willChangeFrame, .willHide, .didChangeFrame, .didHide])
    }

    @Test("takes no keyboard that cannot be one")
    func mistakes() {
        let frame = KeyboardFrame(x: 0, y: 0, width: 1, height: 1)
        #expect(InputMethod.mistake(in: KeyboardOrder(frame: frame)) == nil)
        #expect(InputMethod.mistake(in: KeyboardOrder(frame: nil)) == nil)
        let bound = Limits.keyboardPoints
        let wrong: [(Int32, Int32, Int32, Int32)] = [
            (0, 0, 0, 1), (0, 0, 1, -1), (bound + 1, 0, 1, 1), (0, .min, 1, 1),
        ]
        for (x, y, width, height) in wrong {
            let order = KeyboardOrder(frame: KeyboardFrame(x: x, y: y, width: width, height: height))
            #expect(InputMethod.mistake(in: order) != nil)
        }
        #expect(InputMethod.mistake(in: KeyboardOrder(frame: nil, durationMilliseconds: 10_001)) != nil)
    }
}
