import Foundation
import Testing

@testable import PostriderKit

@Suite("What comes from outside of the app")
struct KitNotificationsTests {
    private static let content: NotificationContent = {
        var content = NotificationContent()
        content.title = "T"
        content.badge = 0
        content.sound = .default
        content.userInfo = ["a": [1, nil]]
        content.interruptionLevel = .critical
        content.relevanceScore = 0.5
        return content
    }()
    private static let firing = LocalNotificationDidFire(
        identifier: "id", content: content, date: Date(timeIntervalSince1970: 1.5))
    private static let push = RemoteNotificationDidArrive(userInfo: ["aps": ["badge": 1]])

    private func check<Notification: TypedNotification & Equatable>(_ notification: Notification) {
        #expect(DispatchedNotification(notification).typed() == notification)
    }

    @Test("is the same as a type and as a user info")
    func roundTrips() {
        check(Self.push)
        check(DeviceTokenDidChange(deviceToken: "00"))
        check(RegistrationDidFail(reason: "No."))
        check(Self.firing)
        check(ResponseDidArrive(to: .local(Self.firing), actionIdentifier: "a", userText: ""))
        check(ResponseDidArrive(to: .remote(Self.push), actionIdentifier: "a"))
        check(
            ResponseDidArrive(
                to: .remote(Self.push), actionIdentifier: "a", identifier: "i",
                date: Date(timeIntervalSince1970: 2.5)))
        for reason in [
            .itself, .activation, .remoteNotification(Self.push), .localNotification(Self.firing),
            .response(ResponseDidArrive(to: .local(Self.firing), actionIdentifier: "a")),
        ] as [LaunchReason] {
            check(ApplicationDidFinishLaunching(reason: reason))
        }
        check(ApplicationDidBecomeActive())
        check(ApplicationDidEnterBackground())
        check(ApplicationWillTerminate())
        for status in [AuthorizationStatus.notDetermined, .denied, .authorized, .provisional] {
            check(AuthorizationDidChange(status: status))
        }
    }

    private static let movement = KeyboardMovement(
        frameBegin: KeyboardMovement.Frame(x: 0, y: 800, width: 1280, height: 300),
        frameEnd: KeyboardMovement.Frame(x: 0, y: 500, width: 1280, height: 300), animationDuration: 0.25,
        animationCurve: .easeOut)

    @Test("and is about the device is the same as a type and as a user info")
    func systemRoundTrips() {
        check(RelayLinkWillConnect(relay: "r:1"))
        check(RelayLinkDidConnect(relay: "r:1"))
        check(RelayLinkWillDisconnect(relay: "r:1", reason: "gone"))
        let date = Date(timeIntervalSince1970: 1.5)
        check(RelayLinkDidDisconnect(relay: "r:1", reason: "gone", nextAttempt: date))
        check(RelayLinkDidDisconnect(relay: "r:1", reason: "gone", nextAttempt: nil))
        check(DeviceWillSleep())
        check(DeviceDidWake())
        check(SystemClockDidChange(shift: -1.5))
        check(SystemTimeZoneDidChange(identifier: "Europe/Berlin"))
        check(KeyboardWillChangeFrame(Self.movement))
        check(KeyboardDidChangeFrame(Self.movement))
        check(KeyboardWillShow(Self.movement))
        check(KeyboardDidShow(Self.movement))
        check(KeyboardWillHide(Self.movement))
        check(KeyboardDidHide(Self.movement))
        #expect(
            Self.movement.userInfo == [
                "frameBegin": ["x": 0, "y": 800, "width": 1280, "height": 300],
                "frameEnd": ["x": 0, "y": 500, "width": 1280, "height": 300],
                "animationDuration": 0.25, "animationCurve": 2,
            ])
    }

    @Test("and is about the device is posted by nobody but the agent, in whatever form")
    func refusals() {
        let dispatcher = NotificationDispatcher()
        let record = Record()
        let observation = dispatcher.addObserver { record.add($0.name.rawValue) }
        let refusal = dispatcher.post(name: .deviceWillSleep)
        #expect(refusal == PostRefusal(of: .deviceWillSleep))
        #expect(
            refusal?.description == "postrider.system.deviceWillSleep is the system's, and posted by the "
                + "device's agent alone: post under a name of your own.")
        #expect(dispatcher.post(KeyboardWillShow(Self.movement)) != nil)
        #expect(dispatcher.post(DispatchedNotification(SystemClockDidChange(shift: 1))) != nil)
        let later = NotificationName(rawValue: "postrider.system.ofALaterVersion")
        #expect(dispatcher.post(name: later) != nil && later.isSystems)
        #expect(dispatcher.post(name: NotificationName(rawValue: "system")) == nil)
        #expect(record.texts == ["system"])
        withExtendedLifetime(observation) {}
    }

    @Test("has the documented names, and leaves out what is not there")
    func names() {
        #expect(
            Self.firing.userInfo == [
                "identifier": "id", "date": 1.5, "title": "T", "badge": 0, "sound": "default",
                "userInfo": ["a": [1, nil]], "interruptionLevel": 3, "relevanceScore": 0.5,
            ])
    }

    @Test("is nothing where what it must say is missing")
    func missing() {
        #expect(DeviceTokenDidChange(userInfo: [:]) == nil)
        #expect(RegistrationDidFail(userInfo: ["reason": 1]) == nil)
        #expect(LocalNotificationDidFire(userInfo: ["identifier": "a"]) == nil)
        #expect(ResponseDidArrive(userInfo: ["action": "a"]) == nil)
        #expect(AuthorizationDidChange(userInfo: ["authorizationStatus": 5]) == nil)
    }
}

@Suite("A trigger of the kit")
struct NotificationTriggerTests {
    @Test("tells when it would be due")
    func nextDate() throws {
        let start = Date()
        let interval = TimeIntervalNotificationTrigger(timeInterval: 90, repeats: true)
        #expect(try #require(interval.nextTriggerDate()) > start.addingTimeInterval(89))
        let newYear = DateComponents(timeZone: .gmt, month: 1, day: 1)
        let date = try #require(
            CalendarNotificationTrigger(dateMatching: newYear, repeats: false).nextTriggerDate())
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        #expect(date > start && calendar.dateComponents([.month, .day, .hour], from: date).hour == 0)
        #expect(DateNotificationTrigger(date: start.addingTimeInterval(-1)).nextTriggerDate() == nil)
    }

    static let impossible: [any NotificationTrigger] = [
        TimeIntervalNotificationTrigger(timeInterval: 0, repeats: false),
        TimeIntervalNotificationTrigger(timeInterval: 59, repeats: true),
        TimeIntervalNotificationTrigger(timeInterval: .nan, repeats: false),
        TimeIntervalNotificationTrigger(timeInterval: .infinity, repeats: false),
        CalendarNotificationTrigger(dateMatching: DateComponents(), repeats: true),
        CalendarNotificationTrigger(dateMatching: DateComponents(weekOfYear: 3), repeats: true),
        CalendarNotificationTrigger(
            dateMatching: DateComponents(calendar: Calendar(identifier: .hebrew), day: 1), repeats: true),
        DateNotificationTrigger(date: Date(timeIntervalSince1970: .infinity)),
    ]

    @Test("is never due where there is no such moment", arguments: impossible.indices)
    func never(_ index: Int) {
        #expect(Self.impossible[index].nextTriggerDate() == nil)
    }
}
