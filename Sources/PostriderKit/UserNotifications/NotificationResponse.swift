public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// What a user has done with a notification, in the manner of `UNNotificationResponse`. One with a text is a
/// ``TextInputNotificationResponse``.
public protocol NotificationResponse: Sendable {
    /// The notification.
    var notification: UserNotification { get }
    /// What the user has done: the identifier of one of the app's actions, ``NotificationDefaultActionIdentifier`` or
    /// ``NotificationDismissActionIdentifier``.
    var actionIdentifier: String { get }
}

/// The user has chosen the notification itself, not one of its actions.
public let NotificationDefaultActionIdentifier = ResponseDidArrive.defaultActionIdentifier
/// The user has dismissed the notification; told where its category has
/// ``NotificationCategoryOptions/customDismissAction``.
public let NotificationDismissActionIdentifier = ResponseDidArrive.dismissActionIdentifier

/// What a user has written in response to a notification, in the manner of `UNTextInputNotificationResponse`.
public struct TextInputNotificationResponse: NotificationResponse {
    /// The notification.
    public let notification: UserNotification
    /// The identifier of the action that asked for the text.
    public let actionIdentifier: String
    /// What the user has written.
    public let userText: String
}

/// A response without a text.
struct PlainNotificationResponse: NotificationResponse {
    let notification: UserNotification
    let actionIdentifier: String
}

/// A push, as the trigger of a notification, in the manner of `UNPushNotificationTrigger`. It cannot be scheduled.
public struct PushNotificationTrigger: NotificationTrigger, Hashable {
    /// It is due once.
    public var repeats: Bool { false }

    /// Nil: nobody knows when a provider pushes.
    public func nextTriggerDate() -> Date? { nil }

    /// The trigger of a push.
    public init() {}
}

extension Responded {
    /// The response as a delegate is told of it.
    var delegateResponse: any NotificationResponse {
        let notification = subject.userNotification(identifier: identifier, at: at)
        guard let text else {
            return PlainNotificationResponse(notification: notification, actionIdentifier: action)
        }
        return TextInputNotificationResponse(
            notification: notification, actionIdentifier: action, userText: text)
    }
}

extension Responded.Subject {
    /// The notification as a delegate is told of it. Of a push an agent of an earlier version says the payload only.
    func userNotification(identifier: String, at: Moment?) -> UserNotification {
        switch self {
        case .local(let notice): return notice.notification
        case .remote(let payload):
            let userInfo = (try? UserInfo(json: payload)) ?? [:]
            let request = NotificationRequest(
                identifier: identifier, content: NotificationContent(payload: userInfo),
                trigger: PushNotificationTrigger())
            return UserNotification(request: request, date: at.map { Date($0) } ?? Date())
        }
    }
}

extension NotificationContent {
    /// What a payload shows ("Generating a remote notification"); its user info is the payload.
    init(payload: UserInfo) {
        let aps = payload["aps"]
        let alert = aps?["alert"]
        title = alert?["title"]?.string ?? ""
        subtitle = alert?["subtitle"]?.string ?? ""
        body = alert?["body"]?.string ?? alert?.string ?? ""
        badge = aps?["badge"]?.integer.flatMap { Int(exactly: $0) }
        sound = (aps?["sound"]?["name"]?.string ?? aps?["sound"]?.string).map { NotificationSound(named: $0) }
        categoryIdentifier = aps?["category"]?.string ?? ""
        threadIdentifier = aps?["thread-id"]?.string ?? ""
        let word = aps?["interruption-level"]?.string
        interruptionLevel = NotificationInterruptionLevel.allCases.first { $0.word == word } ?? .active
        relevanceScore = aps?["relevance-score"]?.double ?? 0
        userInfo = payload
    }

    /// The payload with what this content shows.
    var payload: UserInfo {
        var aps = userInfo["aps"]?.dictionary ?? [:]
        var alert = aps["alert"]?.dictionary ?? [:]
        for (key, text) in [("title", title), ("subtitle", subtitle), ("body", body)] {
            alert[key] = text.isEmpty ? nil : .string(text)
        }
        aps["alert"] = .dictionary(alert)
        aps["badge"] = badge.map { .integer(Int64($0)) }
        if aps["sound"]?["name"]?.string != sound?.name { aps["sound"] = sound.map { .string($0.name) } }
        aps["category"] = categoryIdentifier.isEmpty ? nil : .string(categoryIdentifier)
        aps["thread-id"] = threadIdentifier.isEmpty ? nil : .string(threadIdentifier)
        aps["interruption-level"] = interruptionLevel == .active ? nil : .string(interruptionLevel.word)
        aps["relevance-score"] = relevanceScore == 0 ? nil : .double(relevanceScore)
        var payload = userInfo
        payload["aps"] = .dictionary(aps)
        return payload
    }
}

extension NotificationInterruptionLevel {
    /// The word for it in a payload.
    fileprivate var word: String {
        switch self {
        case .passive: "passive"
        case .active: "active"
        case .timeSensitive: "time-sensitive"
        case .critical: "critical"
        }
    }
}
