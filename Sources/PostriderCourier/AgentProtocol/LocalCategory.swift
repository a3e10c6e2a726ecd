/// A set of actions that notifications refer to by its identifier (`Category`).
public struct LocalCategory: CourierMessage {
    /// The identifier that the app has chosen.
    public let identifier: String
    /// The actions, in the order in which they are offered.
    public let actions: [LocalAction]
    /// Options as bits of Apple's `UNNotificationCategoryOptions`; see ``customDismissAction``.
    public let options: UInt32
    /// The text to show in place of a body that must not be shown.
    public let hiddenPreviewsPlaceholder: String
    /// The identifiers of intents. Nothing on the device reads them.
    public let intents: [String]

    /// The option of a category whose app wants to be told when the user dismisses a notification.
    public static let customDismissAction: UInt32 = 1

    /// Creates a category from its parts.
    public init(
        identifier: String, actions: [LocalAction], options: UInt32 = 0,
        hiddenPreviewsPlaceholder: String = "", intents: [String] = []
    ) {
        self.identifier = identifier
        self.actions = actions
        self.options = options
        self.hiddenPreviewsPlaceholder = hiddenPreviewsPlaceholder
        self.intents = intents
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identifier, actions, options) = ("", [LocalAction](), UInt32(0))
        var (placeholder, intents) = ("", [String]())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identifier = try field.text(in: bytes)
            case 2: actions.append(try LocalAction(decoding: bytes.extracting(try field.range())))
            case 3: options = try field.uint32()
            case 4: placeholder = try field.text(in: bytes)
            case 5: intents.append(try field.text(in: bytes))
            default: break
            }
        }
        self.init(
            identifier: identifier, actions: actions, options: options,
            hiddenPreviewsPlaceholder: placeholder, intents: intents)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, identifier)
        for action in actions { output.appendField(2, message: action.encode) }
        output.appendField(3, UInt64(options))
        output.appendField(4, hiddenPreviewsPlaceholder)
        for intent in intents { output.appendElement(5, intent) }
    }

    /// Decodes the categories of a `Categories` message.
    public static func list(decoding bytes: Span<UInt8>) throws(CourierError) -> [LocalCategory] {
        var reader = ProtobufReader()
        var list: [LocalCategory] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            list.append(try LocalCategory(decoding: bytes.extracting(try field.range())))
        }
        return list
    }

    /// Appends an encoded `Categories` message.
    public static func encode(_ categories: [LocalCategory], into output: inout [UInt8]) {
        for category in categories { output.appendField(1, message: category.encode) }
    }
}

/// An action that a user can choose for a notification (`Action`).
public struct LocalAction: CourierMessage {
    /// The identifier that the app has chosen, which the response repeats.
    public let identifier: String
    /// The title of the button.
    public let title: String
    /// Options as bits of Apple's `UNNotificationActionOptions`: 1 authentication required, 2 destructive, 4
    /// foreground.
    public let options: UInt32
    /// The text field of the action; nil for none.
    public let textInput: TextInput?

    /// The text field of an action.
    public struct TextInput: Hashable, Sendable {
        /// The title of the button that sends the text.
        public let buttonTitle: String
        /// The placeholder in the text field.
        public let placeholder: String

        /// Creates a text field from its parts.
        public init(buttonTitle: String, placeholder: String) {
            self.buttonTitle = buttonTitle
            self.placeholder = placeholder
        }
    }

    /// Creates an action from its parts.
    public init(identifier: String, title: String, options: UInt32, textInput: TextInput?) {
        self.identifier = identifier
        self.title = title
        self.options = options
        self.textInput = textInput
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identifier, title, options) = ("", "", UInt32(0))
        var textInput: TextInput?
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identifier = try field.text(in: bytes)
            case 2: title = try field.text(in: bytes)
            case 3: options = try field.uint32()
            case 4: textInput = try TextInput(decoding: bytes.extracting(try field.range()))
            default: break
            }
        }
        self.init(identifier: identifier, title: title, options: options, textInput: textInput)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, identifier)
        output.appendField(2, title)
        output.appendField(3, UInt64(options))
        guard let textInput else { return }
        output.appendField(4) { output in
            output.appendField(1, textInput.buttonTitle)
            output.appendField(2, textInput.placeholder)
        }
    }
}

extension LocalAction.TextInput {
    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (buttonTitle, placeholder) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: buttonTitle = try field.text(in: bytes)
            case 2: placeholder = try field.text(in: bytes)
            default: break
            }
        }
        self.init(buttonTitle: buttonTitle, placeholder: placeholder)
    }
}
