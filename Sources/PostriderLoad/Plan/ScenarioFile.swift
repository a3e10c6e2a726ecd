public import PostriderYAML

extension LoadPlan {
    /// Reads a scenario file; docs/reference/load-result.md describes its format.
    ///
    /// - Throws: a sentence with the place of the first mistake.
    public init(text: String, file: String) throws(YAMLError) {
        let reader = try YAMLReader.reading(text: text, file: file)
        let name = try reader.required("name", reader.string)
        var steps: [Step] = []
        for step in try reader.required("steps", reader.mappings) {
            let phase = try step.string("phase")
            if let phase, !Self.isPhase(phase) {
                throw step.error("phase", "must be lower-case letters, digits and '-', not '\(phase)'")
            }
            steps.append(Step(try Self.action(step), phase: phase ?? (steps.isEmpty ? "run" : nil)))
        }
        guard !steps.isEmpty else { throw reader.error("steps", "must hold one step at least") }
        let phases = steps.compactMap(\.phase)
        let main = try reader.string("main") ?? phases.last ?? "run"
        guard phases.contains(main) else {
            throw reader.error("main", "must be the phase of a step, not '\(main)'")
        }
        self.init(name: name, steps: steps, mainPhase: main)
        try readFleet(reader)
        seed = UInt64(try reader.integer("seed", in: 0...Int.max) ?? 1)
        try reader.finish()
    }

    private static func isPhase(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private mutating func readFleet(_ reader: YAMLReader) throws(YAMLError) {
        guard let part = try reader.mapping("fleet") else { return }
        fleet.devices = try part.integer("devices", in: 1...1_000_000) ?? fleet.devices
        fleet.apps = try part.integer("apps", in: 1...64) ?? fleet.apps
        fleet.providers = try part.integer("providers", in: 1...10_000) ?? fleet.providers
        fleet.streams = try part.integer("streams", in: 1...10_000) ?? fleet.streams
        fleet.threads = try part.integer("threads", in: 1...64) ?? fleet.threads
        fleet.sources = try part.integer("sources", in: 1...60_000) ?? fleet.sources
        fleet.handshakes = try part.integer("handshakes", in: 1...100_000) ?? fleet.handshakes
        fleet.connectionsPerSecond = try part.integer("connect-rate", in: 1...1_000_000)
    }

    /// Three days: ``PushMark`` can tell the age of a push for that long.
    public static let longestStepMilliseconds = 3 * 24 * 3_600_000

    /// Each step is one key with settings of its own.
    private static func action(_ step: YAMLReader) throws(YAMLError) -> Action {
        let times = 0...longestStepMilliseconds
        switch try step.required("do", step.string) {
        case "connect": return .connect(percent: try step.integer("percent", in: 0...100) ?? 100)
        case "leave":
            return .disconnect(percent: try step.integer("percent", in: 0...100) ?? 100, isOrderly: true)
        case "cut":
            return .disconnect(percent: try step.integer("percent", in: 0...100) ?? 100, isOrderly: false)
        case "storm": return .storm(percent: try step.integer("percent", in: 0...100) ?? 100)
        case "start": return .start(try traffic(step))
        case "stop": return .stop
        case "push":
            let traffic = try traffic(step)
            let time = try step.milliseconds("for", in: times)
            guard time != nil || traffic.count != nil else {
                throw step.error("for", "or 'count' must say when the pushes end")
            }
            return .push(traffic, milliseconds: time)
        case "broadcast":
            return .broadcast(
                count: try step.integer("count", in: 1...1_000_000) ?? 100,
                perSecond: Double(try step.integer("rate", in: 1...100_000) ?? 20),
                payloadBytes: try step.integer("payload", in: 32...4096) ?? 200)
        case "hold":
            return .hold(
                milliseconds: try step.required("for") { name throws(YAMLError) in
                    try step.milliseconds(name, in: times)
                })
        case "drain": return .drain(milliseconds: try step.milliseconds("within", in: times) ?? 30_000)
        case let word:
            throw step.error(
                "do",
                "must be connect, leave, cut, storm, start, stop, push, broadcast, hold or drain, "
                    + "not '\(word)'"
            )
        }
    }

    private static func traffic(_ step: YAMLReader) throws(YAMLError) -> Traffic {
        var traffic = Traffic()
        let rate = try step.integer("rate", in: 1...10_000_000)
        let inFlight = try step.integer("in-flight", in: 1...10_000_000)
        if rate != nil, inFlight != nil {
            throw step.error("rate", "and 'in-flight' are two ways; write one")
        }
        if let rate { traffic.pace = .perSecond(Double(rate)) }
        if let inFlight { traffic.pace = .inFlight(inFlight) }
        traffic.count = try step.integer("count", in: 1...1_000_000_000)
        traffic.isStored = try step.boolean("stored") ?? true
        traffic.payloadBytes = try step.integer("payload", in: 32...4096) ?? traffic.payloadBytes
        return traffic
    }
}
