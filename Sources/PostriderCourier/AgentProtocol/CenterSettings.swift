/// What an app may be allowed to do, as bits (`AuthorizationRequest.options`). Numbers as Apple's
/// `UNAuthorizationOptions`.
public struct NotificationOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A number on the app's icon.
    public static let badge = NotificationOptions(rawValue: 1)
    /// Sounds.
    public static let sound = NotificationOptions(rawValue: 2)
    /// Alerts.
    public static let alert = NotificationOptions(rawValue: 4)
    /// Alerts that stay until the user has seen them.
    public static let criticalAlert = NotificationOptions(rawValue: 16)
    /// A button that leads to the app's own settings of its notifications.
    public static let providesSettings = NotificationOptions(rawValue: 32)
    /// To notify without disturbing, before the owner of the device has decided.
    public static let provisional = NotificationOptions(rawValue: 64)

    /// What the owner of a device may grant.
    public static let grantable: NotificationOptions = [
        .badge, .sound, .alert, .criticalAlert, .providesSettings,
    ]
    /// What an app may that has named nothing: all that earlier versions have let it do.
    public static let unnamed: NotificationOptions = [.badge, .sound, .alert, .criticalAlert]

    /// The words that settings and commands have for ``grantable`` options.
    public static let words: [(word: String, option: NotificationOptions)] = [
        ("alert", .alert), ("sound", .sound), ("badge", .badge), ("critical", .criticalAlert),
        ("settings", .providesSettings),
    ]

    /// The options of some words.
    ///
    /// - Returns: the first word that is none in `unknown`.
    public static func reading(_ words: [String]) -> (options: NotificationOptions, unknown: String?) {
        var options: NotificationOptions = []
        for word in words {
            guard let known = Self.words.first(where: { $0.word == word }) else { return (options, word) }
            options.formUnion(known.option)
        }
        return (options, nil)
    }
}

/// What an app may do, one by one (`Settings`).
public struct CenterSettings: CourierMessage {
    /// What the owner of the device says.
    public let status: AuthorizationStatus
    /// What the app has asked for.
    public let asked: NotificationOptions
    /// What of it holds now.
    public let granted: NotificationOptions
    /// The number on the app's icon; 0: there is none.
    public let badge: UInt32

    /// Settings from their parts.
    public init(
        status: AuthorizationStatus, asked: NotificationOptions, granted: NotificationOptions, badge: UInt32
    ) {
        self.status = status
        self.asked = asked
        self.granted = granted
        self.badge = badge
    }

    /// The message that these bytes are.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var status = AuthorizationStatus.notDetermined
        var (asked, granted, badge) = (UInt32(0), UInt32(0), UInt32(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: status = AuthorizationStatus(try field.uint64())
            case 2: asked = try field.uint32()
            case 3: granted = try field.uint32()
            case 4: badge = try field.uint32()
            default: break
            }
        }
        self.init(
            status: status, asked: NotificationOptions(rawValue: asked),
            granted: NotificationOptions(rawValue: granted), badge: badge)
    }

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(status.rawValue))
        output.appendField(2, UInt64(asked.rawValue))
        output.appendField(3, UInt64(granted.rawValue))
        output.appendField(4, UInt64(badge))
    }
}
