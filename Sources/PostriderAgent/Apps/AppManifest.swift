public import PostriderCourier
public import PostriderNotifications

/// How an app is declared to the agent: whose it is and, where the agent is to start it, how.
public struct AppManifest: Sendable, Equatable {
    /// The app.
    public var topic: String
    /// The user whose processes may be this app.
    public var user: UInt32
    /// The program's file.
    public var program: String
    /// What stands behind its name.
    public var arguments: [String]
    /// What is set in its environment besides what the agent sets.
    public var environment: [String: String]
    /// Whether it is started unseen for what arrives for it. One that may not is made active for it.
    public var mayRunInBackground: Bool
    /// Whether it ends when it leaves the foreground.
    public var exitsOnSuspend: Bool
    /// Seconds for which it may be busy with one notification; nil: as long as it likes.
    public var handlerSeconds: Int? = Limits.handlerSeconds.usual
    /// Whether it may notify, until the owner of the device says something else; `notDetermined`: the manifest does not
    /// say.
    public var notifications = AuthorizationStatus.notDetermined
    /// What it may of what it asks for, where ``notifications`` allows it; nil: all of it.
    public var notificationOptions: NotificationOptions?
    /// What it is called on a screen; nil: as its topic.
    public var name: String?
    /// The name or file of its icon there.
    public var icon: String?
    /// The name of its desktop file, without `.desktop`, for its badge.
    public var desktopFile: String?

    /// What is started for each notification, in place of an app that attaches; nil: the program is an app.
    public var handler: Handler?

    /// The program that may change the app's alerts before they are shown; nil: there is none.
    public var serviceExtension: ServiceExtension?

    /// A program that may change an app's alerts before they are shown (`mutable-content`).
    public struct ServiceExtension: Sendable, Equatable {
        /// The program's file.
        public var program: String
        /// What stands behind its name.
        public var arguments: [String]
        /// Milliseconds that an alert waits for it at most.
        public var milliseconds: Int

        /// An extension from its parts.
        public init(
            program: String, arguments: [String] = [],
            milliseconds: Int = Limits.extensionMilliseconds.usual
        ) {
            self.program = program
            self.arguments = arguments
            self.milliseconds = milliseconds
        }
    }

    /// A manifest from its parts.
    public init(
        topic: String, user: UInt32, program: String, arguments: [String] = [],
        environment: [String: String] = [:], mayRunInBackground: Bool = false, exitsOnSuspend: Bool = false
    ) {
        self.topic = topic
        self.user = user
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.mayRunInBackground = mayRunInBackground
        self.exitsOnSuspend = exitsOnSuspend
    }
}
