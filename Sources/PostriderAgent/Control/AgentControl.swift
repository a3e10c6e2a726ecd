/// What the owner's commands and the agent say to each other on the app socket, as JSON (docs/operate/agent.md).
/// Times are milliseconds since the epoch.
public enum AgentControl {
    /// `GET /v1/status`.
    public struct Status: Codable, Sendable {
        /// 24 hexadecimal digits; nil: the device has not enrolled yet.
        public var device: String?
        /// Whether the link to the relay is up.
        public var isConnected: Bool
        /// Apps that the agent knows.
        public var apps: Int
        /// Those of them that run, as far as the agent knows.
        public var running: Int
        /// Notifications that wait for their apps.
        public var inbox: Int
        /// Local notifications that are not due yet.
        public var pending: Int
        /// Notifications that no app could handle.
        public var deadLetters: Int
    }

    /// One of `GET /v1/apps`.
    public struct App: Codable, Sendable {
        /// Which app it is.
        public var topic: String
        /// Whose it is; nil: it has not come yet, and nobody has declared it.
        public var user: UInt32?
        /// How it is: `active`, `background`, `starting`, `ending`, `not running`, `waiting` (to be started again),
        /// `crash loop`, or `not seen yet`: the owner has decided about an app that has not come.
        public var state: String
        /// The process that the agent has started.
        public var process: Int32?
        /// Whether a manifest declares it.
        public var isDeclared: Bool
        /// Whether it has a device token.
        public var isRegistered: Bool
        /// What the owner says about its alerts: `ask`, `allow` or `deny`; `quiet` if the app asked to notify quietly,
        /// and the owner has not decided.
        public var notifications: String
        /// Notifications that wait for it.
        public var inbox: Int
        /// Seconds for which it has settled none of what is under way to it, from ten on; nil: it goes on.
        public var busySeconds: Int?
        /// Notifications that are under way to it then.
        public var underWay: Int?
    }

    /// One of `GET /v1/inbox` and `GET /v1/dead-letters`.
    public struct Letter: Codable, Sendable {
        /// Its number, for orders.
        public var number: Int64
        /// Its app.
        public var topic: String
        /// `push`, `local` or `response`.
        public var kind: String
        /// Its identity: the `apns-id` of a push.
        public var identity: String
        /// How often its app has failed at it.
        public var attempts: Int
        /// Why it was given up, and when; nil for one that is not.
        public var reason: String?
        /// When it was given up.
        public var diedAt: Int64?
    }

    /// One of `GET /v1/pending`.
    public struct Pending: Codable, Sendable {
        /// Its app.
        public var topic: String
        /// What the app calls it.
        public var identifier: String
        /// Its title.
        public var title: String
        /// When it is due next.
        public var at: Int64
    }

    /// One of `GET /v1/alerts`.
    public struct Alert: Codable, Sendable {
        /// Its app.
        public var topic: String
        /// What the app calls it; of a push its collapse identifier, or else its `apns-id`.
        public var identifier: String
        /// Its title.
        public var title: String
        /// Its category.
        public var category: String
    }

    /// `PUT /v1/responses/<topic>`.
    public struct Response: Codable, Sendable {
        /// Which alert it is a response to.
        public var identifier: String
        /// The action that was chosen; nil: the alert itself.
        public var action: String?
        /// What was written.
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
        /// What the app may of what it asks for: `alert`, `sound`, `badge`, `critical`, `settings`; nil: all of it.
        public var options: [String]?

        /// A decision from its parts.
        public init(isAllowed: Bool, options: [String]? = nil) {
            self.isAllowed = isAllowed
            self.options = options
        }
    }

    /// The answer to anything that was not done: one sentence.
    public struct Refusal: Codable, Sendable {
        /// What was wrong, where, what to do.
        public var sentence: String
    }
}
