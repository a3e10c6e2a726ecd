/// What a load run does: which fleet takes part, and which steps follow each other. Every scenario is such a plan.
public struct LoadPlan: Sendable, Equatable {
    /// The providers and devices that take part.
    public struct Fleet: Sendable, Equatable {
        /// How many devices there are.
        public var devices = 1000
        /// Apps that each device registers.
        public var apps = 1
        /// How many connections the providers have.
        public var providers = 4
        /// The most requests that a provider's connection has open at once.
        public var streams = 250
        /// How many threads drive the fleet.
        public var threads = 1
        /// How many addresses, from 127.0.0.2 upward, devices connect from; a relay counts connections by address.
        public var sources = 16
        /// The most TLS handshakes of devices that are under way at once, so that the server never waits for the fleet
        /// to answer.
        public var handshakes = 256
        /// The most connections that devices begin in a second; nil for as many as possible. A fleet that uses its
        /// whole processor measures itself.
        public var connectionsPerSecond: Int?

        /// The default fleet.
        public init() {}
    }

    /// Pushes: how many, how fast, and with which payload.
    public struct Traffic: Sendable, Equatable {
        /// What decides when the next push is sent.
        public enum Pace: Sendable, Equatable {
            /// It is sent as soon as fewer than this many pushes are under way. A push is under way until it is
            /// answered and on the device.
            case inFlight(Int)
            /// This many are sent a second, whatever becomes of them.
            case perSecond(Double)
        }

        /// What decides when the next push is sent.
        public var pace = Pace.inFlight(256)
        /// After this many pushes it ends; nil if a later step stops it.
        public var count: Int?
        /// Whether the relay stores them for a device that is not connected.
        public var isStored = true
        /// Whether the run waits for their arrival; not if the devices stay away.
        public var isAwaited = true
        /// Bytes of the payload, 32 to ``Notifications/Limits/payloadBytes``.
        public var payloadBytes = 200

        /// The default traffic.
        public init() {}
    }

    /// What happens in a step.
    public enum Action: Sendable, Equatable {
        /// Connect devices until this percentage of all is connected; new ones enrol first.
        case connect(percent: Int)
        /// Disconnect this percentage of all devices: with a goodbye, or by cutting the link.
        case disconnect(percent: Int, isOrderly: Bool)
        /// Cut the links of this percentage of devices at once. They reconnect as agents do: after a random pause that
        /// grows with each failure. The step ends when all are back.
        case storm(percent: Int)
        /// Begin to push, while later steps happen.
        case start(Traffic)
        /// Stop pushing; pushes that are under way are still answered.
        case stop
        /// Push until the count is reached, or for this time.
        case push(Traffic, milliseconds: Int?)
        /// Send this many broadcasts at this rate to a channel that all devices are subscribed to.
        case broadcast(count: Int, perSecond: Double, payloadBytes: Int)
        /// Do nothing new for this time.
        case hold(milliseconds: Int)
        /// Wait until all pushes that have a count are made and all accepted ones have arrived, but no longer than
        /// this.
        case drain(milliseconds: Int)
    }

    /// One step, and the phase that its results belong to.
    public struct Step: Sendable, Equatable {
        /// The name of the phase: lower-case letters, digits and hyphens. Nil: the phase of the step before.
        public var phase: String?
        /// What happens.
        public var action: Action

        /// A step from its parts.
        public init(_ action: Action, phase: String? = nil) {
            self.action = action
            self.phase = phase
        }
    }

    /// The name of the scenario.
    public var name: String
    /// The fleet that takes part.
    public var fleet = Fleet()
    /// The steps in their order.
    public var steps: [Step]
    /// The phase whose figures stand for the whole run in tables and conditions.
    public var mainPhase: String
    /// The seed of the random choices: the same seed makes the same choices.
    public var seed: UInt64 = 1

    /// A plan from what has no default.
    public init(name: String, steps: [Step], mainPhase: String) {
        self.name = name
        self.steps = steps
        self.mainPhase = mainPhase
    }

    /// The phases in the order in which they begin.
    var phases: [String] {
        var phases: [String] = []
        for step in steps {
            if let phase = step.phase, !phases.contains(phase) { phases.append(phase) }
        }
        return phases
    }

    /// Whether the plan needs devices, and not only a server that takes pushes.
    public var needsDevices: Bool {
        steps.contains { step in
            switch step.action {
            case .storm, .broadcast: true
            case .connect, .disconnect, .start, .stop, .push, .hold, .drain: false
            }
        } || !steps.contains { $0.action.isPush }
    }
}

extension LoadPlan.Action {
    /// Whether the action begins to push.
    var isPush: Bool {
        switch self {
        case .start, .push: true
        case .connect, .disconnect, .storm, .stop, .broadcast, .hold, .drain: false
        }
    }
}
