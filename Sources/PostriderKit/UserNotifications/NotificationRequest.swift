public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// A request for a local notification, like `UNNotificationRequest`.
public struct NotificationRequest: Sendable {
    /// The identifier that the app has chosen, 1 to 255 bytes. A second request with the same identifier replaces the
    /// first.
    public let identifier: String
    /// The content of the notification.
    public let content: NotificationContent
    /// When the notification is due; nil for at once.
    public let trigger: (any NotificationTrigger)?

    /// Creates a request from its parts.
    public init(identifier: String, content: NotificationContent, trigger: (any NotificationTrigger)?) {
        self.identifier = identifier
        self.content = content
        self.trigger = trigger
    }

    /// Creates a request with a copy of the current content.
    public init(
        identifier: String, content: MutableNotificationContent, trigger: (any NotificationTrigger)?
    ) {
        self.init(identifier: identifier, content: content.content, trigger: trigger)
    }
}

/// A notification and its date, like `UNNotification`. The date is when it was due or is due next; for a push, when
/// it arrived.
public struct UserNotification: Sendable {
    /// The request of the app.
    public let request: NotificationRequest
    /// When the notification was due or is due next; for a push, when it arrived.
    public let date: Date
}

// MARK: - On the app socket

extension LocalRequest {
    init(_ request: NotificationRequest) throws(UserNotificationError) {
        let trigger = try request.trigger.map { trigger throws(UserNotificationError) in try Trigger(trigger)
        }
        if let flaw = trigger?.flaw { throw .refused(flaw.kitDescription) }
        self.init(
            identifier: request.identifier, content: try LocalContent(request.content), trigger: trigger)
    }

    /// The request as the kit's type.
    var request: NotificationRequest {
        NotificationRequest(
            identifier: identifier, content: content.content, trigger: trigger?.trigger)
    }
}

extension LocalContent {
    init(_ content: NotificationContent) throws(UserNotificationError) {
        self.init()
        title = content.title
        subtitle = content.subtitle
        body = content.body
        badge = content.badge.map { UInt32(clamping: $0) }
        sound = content.sound?.name ?? ""
        category = content.categoryIdentifier
        thread = content.threadIdentifier
        level = PostriderCourier.InterruptionLevel(content.interruptionLevel)
        relevance = content.relevanceScore
        guard !content.userInfo.isEmpty else { return }
        guard let json = content.userInfo.json else {
            throw .refused(
                "The user info holds a number that is infinite or not a number: JSON has none such.")
        }
        userInfo = json
    }

    /// The app's own values as a JSON object.
    var json: [UInt8] { userInfo.isEmpty ? Array("{}".utf8) : userInfo }

    /// The content as the kit's type. User info that cannot be read is empty; this does not happen, because
    /// ``AgentLink`` gives no such content to observers, and the agent accepts none from an app.
    var content: NotificationContent {
        var content = NotificationContent()
        content.title = title
        content.subtitle = subtitle
        content.body = body
        content.badge = badge.map { Int($0) }
        content.sound = sound.isEmpty ? nil : NotificationSound(named: sound)
        content.categoryIdentifier = category
        content.threadIdentifier = thread
        content.interruptionLevel = NotificationInterruptionLevel(level)
        content.relevanceScore = relevance
        content.userInfo = (try? UserInfo(json: json)) ?? [:]
        return content
    }
}

extension LocalNotice {
    /// The notice as the kit's type.
    var notification: UserNotification { UserNotification(request: request.request, date: Date(at)) }

    /// The notification that is posted when it is due.
    var firing: LocalNotificationDidFire {
        LocalNotificationDidFire(
            identifier: request.identifier, content: request.content.content, date: Date(at))
    }
}

extension Responded {
    /// The notification that is posted for the response.
    var response: ResponseDidArrive {
        guard case .remote = subject else {
            return ResponseDidArrive(to: subject.notification, actionIdentifier: action, userText: text)
        }
        return ResponseDidArrive(
            to: subject.notification, actionIdentifier: action, userText: text,
            identifier: identifier.isEmpty ? nil : identifier, date: at.map { Date($0) })
    }
}

extension Responded.Subject {
    /// The payload of the push, or the user info of the local notification, as a JSON object.
    var json: [UInt8] {
        switch self {
        case .local(let notice): notice.request.content.json
        case .remote(let payload): payload
        }
    }

    /// The notification as observers get it.
    var notification: ResponseDidArrive.Subject {
        switch self {
        case .local(let notice): .local(notice.firing)
        case .remote(let payload):
            .remote(RemoteNotificationDidArrive(userInfo: (try? UserInfo(json: payload)) ?? [:]))
        }
    }
}
