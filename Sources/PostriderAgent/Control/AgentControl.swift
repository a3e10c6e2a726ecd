/// The JSON that the `postrider-agent` commands and the agent exchange on the app socket (docs/operate/agent.md). Times
/// are milliseconds since the epoch.
public enum AgentControl {
    /// `GET /v1/status`.
    public struct Status: Codable, Sendable {
        /// 24 hexadecimal digits; nil if the device has not enrolled yet.
        public var device: String?
        /// Whether the link to the relay is up.
        public var isConnected: Bool
        /// The address of the relay that the link goes to, with the proxy if there is one; nil if it is not up.
        public var relay: String?
        /// How many apps the agent knows.
        public var apps: Int
        /// How many of these apps run, as far as the agent knows.
        public var running: Int
        /// How many notifications wait for their apps.
        public var inbox: Int
        /// How many local notifications are not due yet.
        public var pending: Int
        /// How many notifications no app could handle (dead letters).
        public var deadLetters: Int
    }

    /// An element of `GET /v1/apps`.
    public struct App: Codable, Sendable {
        /// The topic of the app.
        public var topic: String
        /// The user of the app; nil if the app has never attached and no manifest declares it.
        public var user: UInt32?
        /// Its state: `active`, `background`, `starting`, `ending`, `not running`, `waiting` (to be started again),
        /// `crash loop`, or `not seen yet`: the owner has decided about an app that has never attached.
        public var state: String
        /// The process that the agent has started for it.
        public var process: Int32?
        /// Whether a manifest declares it.
        public var isDeclared: Bool
        /// Whether it has a device token.
        public var isRegistered: Bool
        /// The owner's decision about its alerts: `ask`, `allow` or `deny`; `quiet` if the app asked to notify quietly
        /// and the owner has not decided.
        public var notifications: String
        /// How many notifications wait for it.
        public var inbox: Int
        /// For how many seconds it has settled no delivery, if for ten or more; nil otherwise.
        public var busySeconds: Int?
        /// How many deliveries are under way to it then.
        public var underWay: Int?
        /// Its name on the session bus, if it is an app of UnifiedPush.
        public var service: String?
    }

    /// An element of `GET /v1/inbox` and `GET /v1/dead-letters`.
    public struct Message: Codable, Sendable {
        /// Its number, by which commands name it.
        public var number: Int64
        /// The topic of its app.
        public var topic: String
        /// `push`, `local` or `response`.
        public var kind: String
        /// Its identity: the `apns-id` of a push.
        public var identity: String
        /// How often its app has failed to handle it.
        public var attempts: Int
        /// Why it was given up; nil in the inbox.
        public var reason: String?
        /// When it was given up; nil in the inbox.
        public var diedAt: Int64?
    }

    /// An element of `GET /v1/pending`.
    public struct Pending: Codable, Sendable {
        /// The topic of its app.
        public var topic: String
        /// The app's identifier of it.
        public var identifier: String
        /// Its title.
        public var title: String
        /// When it is due next.
        public var at: Int64
    }

    /// An element of `GET /v1/alerts`.
    public struct Alert: Codable, Sendable {
        /// The topic of its app.
        public var topic: String
        /// The app's identifier of it. For a push: its collapse identifier, or else its `apns-id`.
        public var identifier: String
        /// Its title.
        public var title: String
        /// Its category.
        public var category: String
    }

    /// `PUT /v1/responses/<topic>`.
    public struct Response: Codable, Sendable {
        /// The identifier of the alert.
        public var identifier: String
        /// The action that was chosen; nil for the alert itself.
        public var action: String?
        /// The text that was written.
        public var text: String?

        /// A response from its parts.
        public init(identifier: String, action: String? = nil, text: String? = nil) {
            self.identifier = identifier
            self.action = action
            self.text = text
        }
    }

    /// `PUT /v1/authorizations/<topic>`.
    public struct Decision: Codable, Sendable {
        /// Whether the app may notify.
        public var isAllowed: Bool
        /// Which of the options that it asks for the app gets: `alert`, `sound`, `badge`, `critical`, `settings`; nil
        /// for all.
        public var options: [String]?

        /// A decision from its parts.
        public init(isAllowed: Bool, options: [String]? = nil) {
            self.isAllowed = isAllowed
            self.options = options
        }
    }

    /// The answer if a command was refused: one sentence.
    public struct Refusal: Codable, Sendable {
        /// What is wrong, where, and what to do.
        public var sentence: String
    }
}
