public import FoundationEssentials
import PostriderCourier
import PostriderNotifications

/// A local notification that is asked for, in the manner of `UNNotificationRequest`.
public struct NotificationRequest: Sendable {
    /// The app's own name for it, 1 to 255 bytes; a second one of the same name replaces the first.
    public let identifier: String
    /// What is shown and told.
    public let content: NotificationContent
    /// When; nil: at once.
    public let trigger: (any NotificationTrigger)?

    /// A request from its parts.
    public init(identifier: String, content: NotificationContent, trigger: (any NotificationTrigger)?) {
        self.identifier = identifier
        self.content = content
        self.trigger = trigger
    }

    /// A request with the content as it is now.
    public init(
        identifier: String, content: MutableNotificationContent, trigger: (any NotificationTrigger)?
    ) {
        self.init(identifier: identifier, content: content.content, trigger: trigger)
    }
}

/// A notification and the date that it is about, in the manner of `UNNotification`: when it was due, or is due next; of
/// a push, when it arrived.
public struct UserNotification: Sendable {
    /// What the app asked for.
    public let request: NotificationRequest
    /// The date.
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

    /// The request in the kit's words.
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

    /// The content in the kit's words. A user info that cannot be read is empty; ``AgentLink`` lets observers have
    /// none of these, and the agent takes none from an app.
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
    /// The notice in the kit's words.
    var notification: UserNotification { UserNotification(request: request.request, date: Date(at)) }

    /// What is posted when its moment has come.
    var firing: LocalNotificationDidFire {
        LocalNotificationDidFire(
            identifier: request.identifier, content: request.content.content, date: Date(at))
    }
}

extension Responded {
    /// What is posted.
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
    /// What the provider or the app has said, as a JSON object.
    var json: [UInt8] {
        switch self {
        case .local(let notice): notice.request.content.json
        case .remote(let payload): payload
        }
    }

    /// The notification as observers know it.
    var notification: ResponseDidArrive.Subject {
        switch self {
        case .local(let notice): .local(notice.firing)
        case .remote(let payload):
            .remote(RemoteNotificationDidArrive(userInfo: (try? UserInfo(json: payload)) ?? [:]))
        }
    }
}
