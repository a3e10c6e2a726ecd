/// What a user can do with the notifications of a kind (`Category`).
public struct LocalCategory: CourierMessage {
    /// The app's name for it.
    public let identifier: String
    /// What can be done, in the order in which it is offered.
    public let actions: [LocalAction]
    /// Bits as Apple's `UNNotificationCategoryOptions`, see ``customDismissAction``.
    public let options: UInt32
    /// What the app would have in the place of a body that must not be shown.
    public let hiddenPreviewsPlaceholder: String
    /// Identifiers of intents, which nothing on the device reads.
    public let intents: [String]

    /// The option of a category whose app is told that the user has dismissed a notification.
    public static let customDismissAction: UInt32 = 1

    /// A category from its parts.
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

    /// The message that these bytes are.
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

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, identifier)
        for action in actions { output.appendField(2, message: action.encode) }
        output.appendField(3, UInt64(options))
        output.appendField(4, hiddenPreviewsPlaceholder)
        for intent in intents { output.appendElement(5, intent) }
    }

    /// The categories of a `Categories`.
    public static func list(decoding bytes: Span<UInt8>) throws(CourierError) -> [LocalCategory] {
        var reader = ProtobufReader()
        var list: [LocalCategory] = []
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            list.append(try LocalCategory(decoding: bytes.extracting(try field.range())))
        }
        return list
    }

    /// Appends a `Categories`.
    public static func encode(_ categories: [LocalCategory], into output: inout [UInt8]) {
        for category in categories { output.appendField(1, message: category.encode) }
    }
}

/// One thing that a user can do with a notification (`Action`).
public struct LocalAction: CourierMessage {
    /// The app's name for it, which the response repeats.
    public let identifier: String
    /// What stands on the button.
    public let title: String
    /// Bits as Apple's `UNNotificationActionOptions`: 1 authentication required, 2 destructive, 4 foreground.
    public let options: UInt32
    /// What is asked of the user, where the action takes a text.
    public let textInput: TextInput?

    /// How a text is asked for.
    public struct TextInput: Hashable, Sendable {
        /// What stands on the button that sends it.
        public let buttonTitle: String
        /// What stands where the text will.
        public let placeholder: String

        /// A question from its parts.
        public init(buttonTitle: String, placeholder: String) {
            self.buttonTitle = buttonTitle
            self.placeholder = placeholder
        }
    }

    /// An action from its parts.
    public init(identifier: String, title: String, options: UInt32, textInput: TextInput?) {
        self.identifier = identifier
        self.title = title
        self.options = options
        self.textInput = textInput
    }

    /// The message that these bytes are.
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

    /// Appends the message.
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
