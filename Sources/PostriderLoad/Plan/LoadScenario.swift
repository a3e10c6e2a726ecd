/// The built-in scenarios. Each makes a plan, like those of scenario files, from a few settings.
public enum LoadScenario: String, CaseIterable, Sendable {
    /// Providers push to devices that are connected, or to absent ones.
    case push
    /// Devices are connected, and nothing else happens.
    case idle
    /// All devices are cut off at once and reconnect, while providers go on pushing.
    case storm
    /// Providers push to devices that are away; then the devices come back and get everything.
    case offline
    /// Broadcasts to a channel that all devices are subscribed to.
    case fanout
    /// A short version of a day: devices connect, get pushes, leave, are cut off and come back.
    case mixed
    /// Providers push for a long time, while devices connect and leave; the server's memory is watched.
    case soak

    /// The scenario in one sentence.
    public var summary: String {
        switch self {
        case .push: "Push as fast as answers and devices allow, or at --rate."
        case .idle: "Hold connections and see what they cost."
        case .storm: "Push at a rate while all devices are cut at once and come back."
        case .offline: "Push to devices that are away, then let them come back and drain."
        case .fanout: "Broadcast to a channel that all devices are subscribed to."
        case .mixed: "A day in small: coming, pushes, leaving, broadcasts, a storm."
        case .soak: "Push at a rate for a long time, devices coming and going, and watch the memory."
        }
    }

    /// The settings of every scenario; nil for the scenario's own default.
    public struct Settings: Sendable, Equatable {
        /// How many devices there are.
        public var devices: Int?
        /// How many apps each device has.
        public var apps: Int?
        /// How many connections the providers have.
        public var providers: Int?
        /// The most requests that each of them has open at once.
        public var streams: Int?
        /// How many threads drive the fleet.
        public var threads: Int?
        /// How many addresses devices connect from.
        public var sources: Int?
        /// The most connections that devices begin in a second.
        public var connectionsPerSecond: Int?
        /// Pushes or broadcasts a second: an open loop.
        public var perSecond: Double?
        /// Pushes that are under way at once: a closed loop.
        public var inFlight: Int?
        /// How many pushes or broadcasts there are in all.
        public var count: Int?
        /// How long the main phase lasts.
        public var milliseconds: Int?
        /// How long it pushes before that, without measuring.
        public var warmUpMilliseconds: Int?
        /// Bytes of a payload.
        public var payloadBytes: Int?
        /// Whether devices are away while pushes are sent to them.
        public var areAbsent = false
        /// Whether pushes are not stored for devices that are away.
        public var isNowOrNever = false
        /// The seed of the random choices.
        public var seed: UInt64?

        /// The defaults of the scenario.
        public init() {}
    }

    /// The plan.
    public func plan(_ settings: Settings) -> LoadPlan {
        var plan =
            switch self {
            case .push: Self.push(settings)
            case .idle: Self.idle(settings)
            case .storm: Self.storm(settings)
            case .offline: Self.offline(settings)
            case .fanout: Self.fanout(settings)
            case .mixed: Self.mixed(settings)
            case .soak: Self.soak(settings)
            }
        settings.apply(to: &plan.fleet)
        plan.seed = settings.seed ?? 1
        return plan
    }

    private static let drain = LoadPlan.Step(.drain(milliseconds: 30_000), phase: "drain")

    private static func push(_ settings: Settings) -> LoadPlan {
        var traffic = settings.traffic()
        var steps: [LoadPlan.Step] = [.init(.connect(percent: 100), phase: "connect")]
        if settings.areAbsent {
            traffic.isAwaited = false
            steps.append(.init(.disconnect(percent: 100, isOrderly: true), phase: "leave"))
        }
        let warmUp = settings.warmUpMilliseconds ?? 1000
        if warmUp > 0 {
            var warmUpTraffic = traffic
            warmUpTraffic.count = nil
            steps.append(.init(.push(warmUpTraffic, milliseconds: warmUp), phase: "warm-up"))
            // Arrivals after the phase's end would count for the next phase.
            if !settings.areAbsent { steps.append(.init(drain.action)) }
        }
        let time = settings.milliseconds ?? (settings.count == nil ? 10_000 : nil)
        steps.append(.init(.push(traffic, milliseconds: time), phase: "push"))
        if !settings.areAbsent { steps.append(drain) }
        return LoadPlan(name: "push", steps: steps, mainPhase: "push")
    }

    private static func idle(_ settings: Settings) -> LoadPlan {
        LoadPlan(
            name: "idle",
            steps: [
                .init(.connect(percent: 100), phase: "connect"),
                .init(.hold(milliseconds: settings.milliseconds ?? 10_000), phase: "idle"),
            ], mainPhase: "idle")
    }

    private static func storm(_ settings: Settings) -> LoadPlan {
        let traffic = settings.traffic(perSecond: 1000)
        let around = settings.milliseconds ?? 5000
        return LoadPlan(
            name: "storm",
            steps: [
                .init(.connect(percent: 100), phase: "connect"),
                .init(.start(traffic), phase: "before"),
                .init(.hold(milliseconds: around)),
                .init(.storm(percent: 100), phase: "storm"),
                .init(.hold(milliseconds: around), phase: "after"),
                .init(.stop),
                drain,
            ], mainPhase: "storm")
    }

    private static func offline(_ settings: Settings) -> LoadPlan {
        var traffic = settings.traffic()
        let devices = settings.devices ?? LoadPlan.Fleet().devices
        if settings.milliseconds == nil, settings.count == nil { traffic.count = devices * 100 }
        return LoadPlan(
            name: "offline",
            steps: [
                .init(.connect(percent: 100), phase: "connect"),
                .init(.disconnect(percent: 100, isOrderly: true), phase: "leave"),
                .init(.push(traffic, milliseconds: settings.milliseconds), phase: "store"),
                .init(.connect(percent: 100), phase: "return"),
                .init(.drain(milliseconds: 120_000)),
            ], mainPhase: "store")
    }

    private static func fanout(_ settings: Settings) -> LoadPlan {
        let perSecond = settings.perSecond ?? 20
        let count =
            settings.count ?? settings.milliseconds.map { max(1, Int(Double($0) * perSecond / 1000)) } ?? 200
        return LoadPlan(
            name: "fanout",
            steps: [
                .init(.connect(percent: 100), phase: "connect"),
                .init(
                    .broadcast(
                        count: count, perSecond: perSecond, payloadBytes: settings.payloadBytes ?? 200),
                    phase: "fanout"),
            ], mainPhase: "fanout")
    }

    private static func mixed(_ settings: Settings) -> LoadPlan {
        let hour = settings.milliseconds.map { max(200, $0 / 8) } ?? 4000
        let day = settings.traffic(perSecond: 2000)
        return LoadPlan(
            name: "mixed",
            steps: [
                .init(.connect(percent: 40), phase: "morning"),
                .init(.start(day)),
                .init(.connect(percent: 100)),
                .init(.hold(milliseconds: hour), phase: "day"),
                .init(.disconnect(percent: 30, isOrderly: true), phase: "noon"),
                .init(.hold(milliseconds: hour)),
                .init(.connect(percent: 100), phase: "afternoon"),
                .init(.hold(milliseconds: hour)),
                .init(.storm(percent: 50), phase: "storm"),
                .init(.hold(milliseconds: hour), phase: "evening"),
                .init(
                    .broadcast(count: 20, perSecond: 20, payloadBytes: settings.payloadBytes ?? 200),
                    phase: "news"),
                .init(.disconnect(percent: 80, isOrderly: false), phase: "night"),
                .init(.hold(milliseconds: hour)),
                .init(.stop),
                .init(.connect(percent: 100), phase: "next-morning"),
                .init(.drain(milliseconds: 60_000)),
            ], mainPhase: "day")
    }

    private static func soak(_ settings: Settings) -> LoadPlan {
        let traffic = settings.traffic(perSecond: 500)
        let whole = settings.milliseconds ?? 600_000
        let rounds = max(1, min(whole / 5000, 10_000))
        var steps: [LoadPlan.Step] = [
            .init(.connect(percent: 100), phase: "connect"), .init(.start(traffic), phase: "soak"),
        ]
        for round in 0..<rounds {
            steps.append(.init(.hold(milliseconds: whole / rounds / 2)))
            let goes = LoadPlan.Action.disconnect(percent: 10, isOrderly: round.isMultiple(of: 2))
            steps += [
                .init(goes), .init(.hold(milliseconds: whole / rounds / 2)), .init(.connect(percent: 100)),
            ]
        }
        return LoadPlan(name: "soak", steps: steps + [.init(.stop), drain], mainPhase: "soak")
    }
}

extension LoadScenario.Settings {
    /// The traffic that the settings ask for: at a rate, or with a number of pushes under way, at most as many as the
    /// fleet can have.
    fileprivate func traffic(perSecond usual: Double? = nil) -> LoadPlan.Traffic {
        var traffic = LoadPlan.Traffic()
        let fleet = LoadPlan.Fleet()
        let most = (providers ?? fleet.providers) * (streams ?? fleet.streams)
        if let rate = perSecond ?? (inFlight == nil ? usual : nil) {
            traffic.pace = .perSecond(rate)
        } else {
            traffic.pace = .inFlight(inFlight ?? most)
        }
        traffic.count = count
        traffic.isStored = !isNowOrNever
        traffic.payloadBytes = payloadBytes ?? traffic.payloadBytes
        return traffic
    }

    fileprivate func apply(to fleet: inout LoadPlan.Fleet) {
        fleet.devices = devices ?? fleet.devices
        fleet.apps = apps ?? fleet.apps
        fleet.providers = providers ?? fleet.providers
        fleet.streams = streams ?? fleet.streams
        fleet.threads = threads ?? fleet.threads
        fleet.sources = sources ?? fleet.sources
        fleet.connectionsPerSecond = connectionsPerSecond
    }
}
