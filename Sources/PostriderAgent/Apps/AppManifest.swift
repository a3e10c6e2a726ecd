public import PostriderCourier
public import PostriderNotifications

/// The declaration of an app: its user and, if the agent is to start it, how.
public struct AppManifest: Sendable, Equatable {
    /// The topic of the app.
    public var topic: String
    /// The user whose processes may be this app.
    public var user: UInt32
    /// The program's file.
    public var program: String
    /// The program's arguments.
    public var arguments: [String]
    /// Environment variables that are set in addition to the agent's own.
    public var environment: [String: String]
    /// Whether it is started in the background for notifications. An app that may not is made active for them.
    public var mayRunInBackground: Bool
    /// Whether it ends when it leaves the foreground.
    public var exitsOnSuspend: Bool
    /// Seconds that it may take for one notification; nil for no bound.
    public var handlerSeconds: Int? = Limits.handlerSeconds.usual
    /// Whether it may notify, until the owner of the device decides; `notDetermined` if the manifest does not say.
    public var notifications = AuthorizationStatus.notDetermined
    /// Which of the options that it asks for it gets, if ``notifications`` allows any; nil for all.
    public var notificationOptions: NotificationOptions?
    /// Its name on a screen; nil for its topic.
    public var name: String?
    /// The name or file of its icon on a screen.
    public var icon: String?
    /// The name of its desktop file, without `.desktop`, which its badge is shown for.
    public var desktopFile: String?

    /// What is started for each notification, instead of an app that attaches; nil if the program is an app.
    public var handler: Handler?

    /// The program that may change the app's alerts before they are shown; nil if there is none.
    public var serviceExtension: ServiceExtension?

    /// A program that may change an app's alerts before they are shown (`mutable-content`).
    public struct ServiceExtension: Sendable, Equatable {
        /// The program's file.
        public var program: String
        /// The program's arguments.
        public var arguments: [String]
        /// The most milliseconds that an alert waits for it.
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
