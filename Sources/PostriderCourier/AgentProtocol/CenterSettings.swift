/// Permissions that an app can ask for, as bits (`AuthorizationRequest.options`). The raw values are those of Apple's
/// `UNAuthorizationOptions`.
public struct NotificationOptions: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Permission to set the number on the app's icon.
    public static let badge = NotificationOptions(rawValue: 1)
    /// Permission to play sounds.
    public static let sound = NotificationOptions(rawValue: 2)
    /// Permission to show alerts.
    public static let alert = NotificationOptions(rawValue: 4)
    /// Permission to show alerts that stay until the user has seen them.
    public static let criticalAlert = NotificationOptions(rawValue: 16)
    /// A button that opens the app's own notification settings.
    public static let providesSettings = NotificationOptions(rawValue: 32)
    /// Permission to notify quietly before the owner of the device has decided.
    public static let provisional = NotificationOptions(rawValue: 64)

    /// The permissions that the owner of a device can grant.
    public static let grantable: NotificationOptions = [
        .badge, .sound, .alert, .criticalAlert, .providesSettings,
    ]
    /// The permissions of an app that has asked for none by name. They are what earlier versions granted to every
    /// app.
    public static let unnamed: NotificationOptions = [.badge, .sound, .alert, .criticalAlert]

    /// The words that settings and commands use for the ``grantable`` permissions.
    public static let words: [(word: String, option: NotificationOptions)] = [
        ("alert", .alert), ("sound", .sound), ("badge", .badge), ("critical", .criticalAlert),
        ("settings", .providesSettings),
    ]

    /// Reads permissions from their words.
    ///
    /// - Returns: the permissions; and in `unknown` the first word that is not one of ``words``, or nil.
    public static func reading(_ words: [String]) -> (options: NotificationOptions, unknown: String?) {
        var options: NotificationOptions = []
        for word in words {
            guard let known = Self.words.first(where: { $0.word == word }) else { return (options, word) }
            options.formUnion(known.option)
        }
        return (options, nil)
    }
}

/// The permissions of an app, one by one (`Settings`).
public struct CenterSettings: CourierMessage {
    /// The decision of the device's owner.
    public let status: AuthorizationStatus
    /// The permissions that the app has asked for.
    public let asked: NotificationOptions
    /// The permissions that the app has.
    public let granted: NotificationOptions
    /// The number on the app's icon; 0 for none.
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

    /// Decodes the message.
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

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(status.rawValue))
        output.appendField(2, UInt64(asked.rawValue))
        output.appendField(3, UInt64(granted.rawValue))
        output.appendField(4, UInt64(badge))
    }
}
