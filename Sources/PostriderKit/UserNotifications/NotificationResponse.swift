public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// A user's response to a notification, like `UNNotificationResponse`. A response with a text is a
/// ``TextInputNotificationResponse``.
public protocol NotificationResponse: Sendable {
    /// The notification that the user has responded to.
    var notification: UserNotification { get }
    /// The response: the identifier of one of the app's actions, ``NotificationDefaultActionIdentifier`` or
    /// ``NotificationDismissActionIdentifier``.
    var actionIdentifier: String { get }
}

/// The action identifier if the user has chosen the notification itself and not one of its actions.
public let NotificationDefaultActionIdentifier = ResponseDidArrive.defaultActionIdentifier
/// The action identifier if the user has dismissed the notification. The app is told only if the category has
/// ``NotificationCategoryOptions/customDismissAction``.
public let NotificationDismissActionIdentifier = ResponseDidArrive.dismissActionIdentifier

/// A user's response with a text, like `UNTextInputNotificationResponse`.
public struct TextInputNotificationResponse: NotificationResponse {
    /// The notification that the user has responded to.
    public let notification: UserNotification
    /// The identifier of the action that asked for the text.
    public let actionIdentifier: String
    /// The text that the user has entered.
    public let userText: String
}

/// A response without a text.
struct PlainNotificationResponse: NotificationResponse {
    let notification: UserNotification
    let actionIdentifier: String
}

/// The trigger of a push, like `UNPushNotificationTrigger`. It cannot be scheduled.
public struct PushNotificationTrigger: NotificationTrigger, Hashable {
    /// It is false: a push arrives once.
    public var repeats: Bool { false }

    /// Returns nil, because it is not known when a provider pushes.
    public func nextTriggerDate() -> Date? { nil }

    /// Creates the trigger of a push.
    public init() {}
}

extension Responded {
    /// The response as the delegate gets it.
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
    /// The notification as the delegate gets it. For a push, an agent of an earlier version reports only the payload.
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
    /// Reads the content that a payload shows (Apple, "Generating a remote notification"). Its user info is the
    /// payload.
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

    /// The payload with the values of this content.
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
    /// The word for the level in a payload.
    fileprivate var word: String {
        switch self {
        case .passive: "passive"
        case .active: "active"
        case .timeSensitive: "time-sensitive"
        case .critical: "critical"
        }
    }
}
