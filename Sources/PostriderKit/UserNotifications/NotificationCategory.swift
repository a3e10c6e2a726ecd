import PostriderCourier

/// What a user can do with the notifications that name it, in the manner of `UNNotificationCategory`.
public struct NotificationCategory: Hashable, Sendable {
    /// The app's name for it.
    public let identifier: String
    /// What can be done, in the order in which it is offered.
    public let actions: [NotificationAction]
    /// Identifiers of intents, which nothing on the device reads.
    public let intentIdentifiers: [String]
    /// What the app would have in the place of a body that must not be shown. The desktop decides what its locked
    /// screen shows, and does not ask.
    public let hiddenPreviewsBodyPlaceholder: String
    /// How its notifications are treated.
    public let options: NotificationCategoryOptions

    /// A category from its parts.
    public init(
        identifier: String, actions: [NotificationAction], intentIdentifiers: [String] = [],
        hiddenPreviewsBodyPlaceholder: String = "", options: NotificationCategoryOptions = []
    ) {
        self.identifier = identifier
        self.actions = actions
        self.intentIdentifiers = intentIdentifiers
        self.hiddenPreviewsBodyPlaceholder = hiddenPreviewsBodyPlaceholder
        self.options = options
    }
}

/// How the notifications of a category are treated. Numbers as Apple's `UNNotificationCategoryOptions`.
public struct NotificationCategoryOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The app is told when the user dismisses one of them.
    public static let customDismissAction = NotificationCategoryOptions(rawValue: 1)
    /// The title may be shown where the body must not. The desktop does not ask.
    public static let hiddenPreviewsShowTitle = NotificationCategoryOptions(rawValue: 4)
    /// The subtitle may be shown where the body must not. The desktop does not ask.
    public static let hiddenPreviewsShowSubtitle = NotificationCategoryOptions(rawValue: 8)
}

/// An action that takes a text: the initializer with `textInputButtonTitle` makes one. Servers with `inline-reply`
/// offer one of them for each notification.
public typealias TextInputNotificationAction = NotificationAction

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
            },
            options: category.options.rawValue,
            hiddenPreviewsPlaceholder: category.hiddenPreviewsBodyPlaceholder,
            intents: category.intentIdentifiers)
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
            },
            intentIdentifiers: intents, hiddenPreviewsBodyPlaceholder: hiddenPreviewsPlaceholder,
            options: NotificationCategoryOptions(rawValue: options))
    }
}
