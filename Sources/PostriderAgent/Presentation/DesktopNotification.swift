import PostriderCourier
import PostriderDBus
import PostriderNotifications

/// An alert as the arguments of `Notify` (Desktop Notifications Specification 1.2), as far as the server's capabilities
/// allow.
struct DesktopNotification: Equatable {
    var appName: String
    var icon = ""
    var summary: String
    var body: String
    /// Keys and labels, alternating.
    var actions: [String] = []
    var hints: [(name: String, value: BusValue)] = []
    /// Milliseconds; -1 leaves it to the server, 0 means for ever.
    var timeout: Int32 = -1

    /// The key of the alert itself.
    static let defaultKey = "default"
    /// The key of an action that takes a text (an extension of KDE and others).
    static let replyKey = "inline-reply"
    /// The key of the button that leads to the app's own settings.
    static let settingsKey = "settings"
    private static let keyPrefix = "action."

    /// - Parameters:
    ///   - category: the actions that the app offers.
    ///   - manifest: the manifest of the app, if it has one.
    ///   - capabilities: what the server can do.
    init(
        _ alert: Alert, _ options: PresentationOptions, category: LocalCategory?, manifest: AppManifest?,
        capabilities: Set<String>
    ) {
        let content = alert.content
        appName = Self.line(manifest?.name ?? alert.key.topic)
        icon = manifest?.icon ?? ""
        // The specification requires a summary.
        summary = content.title.isEmpty ? appName : Self.line(content.title)
        let lines = [content.subtitle, content.body].filter { !$0.isEmpty }.map(Self.plain)
        body = lines.joined(separator: "\n")
        if capabilities.contains("body-markup") { body = Self.escaped(body) }
        if !capabilities.contains("body"), !body.isEmpty {
            summary += ": " + Self.line(lines.joined(separator: " "))
            body = ""
        }
        if capabilities.contains("actions") { offer(category, capabilities, settings: alert.offersSettings) }
        hint("urgency", .byte(urgency(alert.level)))
        if alert.level == .critical { timeout = 0 }
        // No server groups by this hint today; rules and extensions of a desktop can use it.
        if !content.thread.isEmpty { hint("x-postrider-thread", .string(Self.line(content.thread))) }
        if !content.category.isEmpty {
            hint("category", .string("x-postrider." + Self.line(content.category)))
        }
        if let file = manifest?.desktopFile { hint("desktop-entry", .string(file)) }
        if !options.contains(.list) { hint("transient", .boolean(true)) }
        guard capabilities.contains("sound") else { return }
        if options.contains(.sound), !content.sound.isEmpty, alert.level != .passive {
            let name = content.sound == "default" ? "message-new-instant" : Self.line(content.sound)
            hint("sound-name", .string(name))
        } else {
            hint("suppress-sound", .boolean(true))
        }
    }

    /// The identifier of the action that a key stands for; nil for the alert itself. Fails if the key is not one of
    /// ours.
    ///
    /// - Parameter actions: the actions of the alert's category. If an identifier has characters that a bus does not
    ///   carry, its action is found by its key; the key of an action that no longer exists is decoded.
    static func action(_ key: String, among actions: [LocalAction]) -> Result<String?, UnknownKey> {
        if key == defaultKey { return .success(nil) }
        guard key.hasPrefix(keyPrefix) else { return .failure(UnknownKey()) }
        let known = actions.first { self.key(of: $0.identifier) == key }
        return .success(known?.identifier ?? String(key.dropFirst(keyPrefix.count)))
    }

    /// The key of an action, which the server returns.
    private static func key(of identifier: String) -> String {
        BusValue.carried(keyPrefix + plain(identifier))
    }

    struct UnknownKey: Error, Equatable {}

    /// The arguments in their order.
    func arguments(replacing number: UInt32) -> [BusValue] {
        [
            .string(appName), .uint32(number), .string(icon), .string(summary), .string(body),
            .strings(actions), .named(hints), .int32(timeout),
        ]
    }

    static func == (one: Self, other: Self) -> Bool {
        one.arguments(replacing: 0) == other.arguments(replacing: 0)
    }

    // MARK: -

    /// Offers actions in their order. An action that takes a text is offered only if the server supports that, and only
    /// one of them.
    private mutating func offer(
        _ category: LocalCategory?, _ capabilities: Set<String>, settings: Bool
    ) {
        actions = [Self.defaultKey, "Open"]
        var canReply = capabilities.contains(Self.replyKey)
        for action in category?.actions ?? [] {
            guard let input = action.textInput else {
                actions += [Self.key(of: action.identifier), Self.line(action.title)]
                continue
            }
            guard canReply else { continue }
            canReply = false
            actions += [Self.replyKey, Self.line(action.title)]
            hint("x-kde-reply-placeholder-text", .string(Self.line(input.placeholder)))
            hint("x-kde-reply-submit-button-text", .string(Self.line(input.buttonTitle)))
        }
        if settings { actions += [Self.settingsKey, "Settings"] }
    }

    private mutating func hint(_ name: String, _ value: BusValue) { hints.append((name, value)) }

    private func urgency(_ level: InterruptionLevel) -> UInt8 {
        switch level {
        case .passive: 0
        case .active, .timeSensitive: 1
        case .critical: 2
        }
    }

    /// Text without control characters, except for line ends.
    static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 == "\n" || !$0.isControl }))
    }

    /// Text as a single line.
    static func line(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.isControl ? " " : $0 }))
    }

    /// Text for a body that may have markup. It works on Unicode scalars: a `<` that a combining mark joins to one
    /// character is still markup to a parser.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
