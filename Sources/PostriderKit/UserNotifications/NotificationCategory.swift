import PostriderCourier

/// A set of actions that notifications refer to by its identifier, like `UNNotificationCategory`.
public struct NotificationCategory: Hashable, Sendable {
    /// The identifier that the app has chosen.
    public let identifier: String
    /// The actions, in the order in which they are offered.
    public let actions: [NotificationAction]
    /// The identifiers of intents. Nothing on the device reads them.
    public let intentIdentifiers: [String]
    /// The text to show in place of a body that must not be shown. The desktop decides what its locked screen shows,
    /// and does not read this.
    public let hiddenPreviewsBodyPlaceholder: String
    /// How notifications of the category are treated.
    public let options: NotificationCategoryOptions

    /// Creates a category from its parts.
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

/// How notifications of a category are treated. The raw values are those of Apple's `UNNotificationCategoryOptions`.
public struct NotificationCategoryOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The app is told when the user dismisses a notification of the category.
    public static let customDismissAction = NotificationCategoryOptions(rawValue: 1)
    /// The title may be shown even if the body must not. The desktop does not read this.
    public static let hiddenPreviewsShowTitle = NotificationCategoryOptions(rawValue: 4)
    /// The subtitle may be shown even if the body must not. The desktop does not read this.
    public static let hiddenPreviewsShowSubtitle = NotificationCategoryOptions(rawValue: 8)
}

/// An action with a text field, created by the initializer with `textInputButtonTitle`. Desktops with the capability
/// `inline-reply` offer one such action for each notification.
public typealias TextInputNotificationAction = NotificationAction

/// An action that a user can choose for a notification, like `UNNotificationAction` and
/// `UNTextInputNotificationAction`.
public struct NotificationAction: Hashable, Sendable {
    /// The identifier that the app has chosen, which the response repeats.
    public let identifier: String
    /// The title of the button.
    public let title: String
    /// How the action is offered.
    public let options: NotificationActionOptions
    /// The title of the button that sends the text; nil if the action has no text field.
    public let textInputButtonTitle: String?
    /// The placeholder in the text field.
    public let textInputPlaceholder: String?

    /// Creates an action without a text field.
    public init(identifier: String, title: String, options: NotificationActionOptions = []) {
        self.identifier = identifier
        self.title = title
        self.options = options
        textInputButtonTitle = nil
        textInputPlaceholder = nil
    }

    /// Creates an action with a text field.
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

/// How an action is offered. The raw values are those of Apple's `UNNotificationActionOptions`.
public struct NotificationActionOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The user must be authenticated.
    public static let authenticationRequired = NotificationActionOptions(rawValue: 1)
    /// The action destroys something.
    public static let destructive = NotificationActionOptions(rawValue: 2)
    /// The action brings the app to the front.
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

    /// The category as the kit's type.
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
