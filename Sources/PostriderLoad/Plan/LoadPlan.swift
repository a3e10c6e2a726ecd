/// What a load run does: who takes part, and one step after the other. Every scenario is one of these.
public struct LoadPlan: Sendable, Equatable {
    /// Who takes part.
    public struct Fleet: Sendable, Equatable {
        /// Devices.
        public var devices = 1000
        /// Apps that each device registers.
        public var apps = 1
        /// Connections of providers.
        public var providers = 4
        /// Requests that a provider's connection has open at most.
        public var streams = 250
        /// Event loops that drive them.
        public var threads = 1
        /// Addresses from 127.0.0.2 upward that devices connect from; a relay counts connections by these.
        public var sources = 16
        /// TLS handshakes of devices that are under way at most: the server is not to wait for the fleet with them.
        public var handshakes = 256
        /// Connections that its devices begin a second at most; nil: as many as there is time for. A fleet that takes
        /// all of its processor measures itself.
        public var connectionsPerSecond: Int?

        /// The usual fleet.
        public init() {}
    }

    /// Pushes, how many, how fast, and what they say.
    public struct Traffic: Sendable, Equatable {
        /// What makes the next push leave.
        public enum Pace: Sendable, Equatable {
            /// As soon as fewer than so many are under way: sent, and not yet answered and on the device.
            case inFlight(Int)
            /// So many a second, whatever becomes of them.
            case perSecond(Double)
        }

        /// What makes the next push leave.
        public var pace = Pace.inFlight(256)
        /// Pushes after which it ends; nil: when it is told to.
        public var count: Int?
        /// Whether they are worth keeping for a device that is not there.
        public var isStored = true
        /// Whether their arrival is waited for; not where the devices stay away.
        public var isAwaited = true
        /// Bytes of the payload, 32 to ``Notifications/Limits/payloadBytes``.
        public var payloadBytes = 200

        /// The usual traffic.
        public init() {}
    }

    /// What happens in a step.
    public enum Action: Sendable, Equatable {
        /// So many of all devices, in percent, are connected in the end; those that are new enrol first.
        case connect(percent: Int)
        /// So many of all devices, in percent, leave: with a goodbye, or cut.
        case disconnect(percent: Int, isOrderly: Bool)
        /// So many devices are cut at once and come back as they are made to: after a pause at random that grows
        /// with each failure. The step ends when all are back.
        case storm(percent: Int)
        /// Pushes go on from here, while other steps happen.
        case start(Traffic)
        /// They end; those under way are answered.
        case stop
        /// Pushes until their count is reached, or for so many milliseconds.
        case push(Traffic, milliseconds: Int?)
        /// Broadcasts to a channel that all devices are subscribed to, so many, at a rate.
        case broadcast(count: Int, perSecond: Double, payloadBytes: Int)
        /// Nothing but what goes on already.
        case hold(milliseconds: Int)
        /// Until all pushes that have a count are made and all that was accepted has arrived, but no longer than this.
        case drain(milliseconds: Int)
    }

    /// One step, and the phase of the report that it belongs to; nil: that of the step before.
    public struct Step: Sendable, Equatable {
        /// Lower-case letters, digits and hyphens.
        public var phase: String?
        /// What happens.
        public var action: Action

        /// A step from its parts.
        public init(_ action: Action, phase: String? = nil) {
            self.action = action
            self.phase = phase
        }
    }

    /// What the scenario is called.
    public var name: String
    /// Who takes part.
    public var fleet = Fleet()
    /// What happens.
    public var steps: [Step]
    /// The phase that stands for the whole in tables and expectations.
    public var mainPhase: String
    /// Makes the choices at random the same each time.
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

    /// Whether it needs more than somebody who takes pushes.
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
    /// Whether pushes begin with it.
    var isPush: Bool {
        switch self {
        case .start, .push: true
        case .connect, .disconnect, .storm, .stop, .broadcast, .hold, .drain: false
        }
    }
}
