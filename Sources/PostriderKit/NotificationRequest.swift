import Courier
public import Foundation
import Notifications

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
}

/// A local notification and the date that it is about, in the manner of `UNNotification`: when it was due, or is due
/// next.
public struct UserNotification: Sendable {
    /// What the app asked for.
    public let request: NotificationRequest
    /// The date.
    public let date: Date
}

/// What a user can do with the notifications that name it, in the manner of `UNNotificationCategory`.
public struct NotificationCategory: Hashable, Sendable {
    /// The app's name for it.
    public let identifier: String
    /// What can be done, in the order in which it is offered.
    public let actions: [NotificationAction]

    /// A category from its parts.
    public init(identifier: String, actions: [NotificationAction]) {
        self.identifier = identifier
        self.actions = actions
    }
}

/// One thing that a user can do with a notification, in the manner of `UNNotificationAction` and
/// `UNTextInputNotificationAction`.
public struct NotificationAction: Hashable, Sendable {
    /// The app's name for it, which the response repeats.
    public let identifier: String
    /// What stands on the button.
    public let title: String
    /// How it is offered.
    public let options: NotificationActionOptions
    /// What stands on the button that sends a text; nil: the action takes none.
    public let textInputButtonTitle: String?
    /// What stands where the text will.
    public let textInputPlaceholder: String?

    /// An action that takes no text.
    public init(identifier: String, title: String, options: NotificationActionOptions = []) {
        self.identifier = identifier
        self.title = title
        self.options = options
        textInputButtonTitle = nil
        textInputPlaceholder = nil
    }

    /// An action that takes a text.
    public init(
        identifier: String, title: String, options: NotificationActionOptions = [],
        textInputButtonTitle: String, textInputPlaceholder: String
    ) {
        self.identifier = identifier
        self.title = title
        self.options = options
        self.textInputButtonTitle = textInputButtonTitle
        self.textInputPlaceholder = textInputPlaceholder
    }
}

/// How an action is offered. Numbers as Apple's `UNNotificationActionOptions`.
public struct NotificationActionOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Only for who is known to be the user.
    public static let authenticationRequired = NotificationActionOptions(rawValue: 1)
    /// It destroys something.
    public static let destructive = NotificationActionOptions(rawValue: 2)
    /// It brings the app to the front.
    public static let foreground = NotificationActionOptions(rawValue: 4)
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
        ResponseDidArrive(to: subject.notification, actionIdentifier: action, userText: text)
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

extension LocalCategory {
    init(_ category: NotificationCategory) {
        self.init(
            identifier: category.identifier,
            actions: category.actions.map { action in
                LocalAction(
                    identifier: action.identifier, title: action.title, options: action.options.rawValue,
                    textInput: action.textInputButtonTitle.map {
                        LocalAction.TextInput(buttonTitle: $0, placeholder: action.textInputPlaceholder ?? "")
                    })
            })
    }

    /// The category in the kit's words.
    var category: NotificationCategory {
        NotificationCategory(
            identifier: identifier,
            actions: actions.map { action in
                let options = NotificationActionOptions(rawValue: action.options)
                guard let input = action.textInput else {
                    return NotificationAction(
                        identifier: action.identifier, title: action.title, options: options)
                }
                return NotificationAction(
                    identifier: action.identifier, title: action.title, options: options,
                    textInputButtonTitle: input.buttonTitle, textInputPlaceholder: input.placeholder)
            })
    }
}
