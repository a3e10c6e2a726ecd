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
        for reason in [
            .itself, .activation, .remoteNotification(Self.push), .localNotification(Self.firing),
            .response(ResponseDidArrive(to: .local(Self.firing), actionIdentifier: "a")),
        ] as [LaunchReason] {
            check(ApplicationDidFinishLaunching(reason: reason))
        }
        check(ApplicationDidBecomeActive())
        check(ApplicationDidEnterBackground())
        check(ApplicationWillTerminate())
        for status in [AuthorizationStatus.notDetermined, .denied, .authorized] {
            check(AuthorizationDidChange(status: status))
        }
    }

    @Test("has the documented names, and leaves out what is not there")
    func names() {
        #expect(
            Self.firing.userInfo == [
                "identifier": "id", "date": 1.5, "title": "T", "badge": 0, "sound": "default",
                "userInfo": ["a": [1, nil]],
            ])
    }

    @Test("is nothing where what it must say is missing")
    func missing() {
        #expect(DeviceTokenDidChange(userInfo: [:]) == nil)
        #expect(RegistrationDidFail(userInfo: ["reason": 1]) == nil)
        #expect(LocalNotificationDidFire(userInfo: ["identifier": "a"]) == nil)
        #expect(ResponseDidArrive(userInfo: ["action": "a"]) == nil)
        #expect(AuthorizationDidChange(userInfo: ["authorizationStatus": 3]) == nil)
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
