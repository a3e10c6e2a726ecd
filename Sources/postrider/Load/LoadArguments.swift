import FoundationEssentials
import PostriderCommands
import PostriderLoad
import PostriderNotifications
import PostriderOptions
import PostriderTransport
import PostriderYAML

/// The parsed arguments of `postrider load`.
struct LoadArguments: Sendable {
    let plan: LoadPlan
    let place: LoadPlace
    let processors: [Int]
    let expectations: [Expectation]
    let isJSON: Bool
    let saveFile: String?
    /// The file to which a page with plots is written.
    let reportFile: String?
    /// An earlier result to compare with.
    let baseline: LoadResult?
    let options: ParsedOptions
    /// The devices' tags.
    let tags: [String]

    /// Parses the options.
    init(_ options: ParsedOptions) throws {
        self.options = options
        plan = try Self.plan(options)
        place = try LoadPlace(options)
        try Self.check(plan, at: place, options)
        processors = try Self.processors(options)
        tags = try options.list("tag").map { tag throws(UsageError) in try options.tag(tag) }
        guard tags.count <= Limits.tagsPerDevice else {
            throw options.error("a device has at most \(Limits.tagsPerDevice) tags, not \(tags.count)")
        }
        isJSON = options.isSet("json")
        saveFile = try Self.file("save", options)
        reportFile = try Self.file("report", options)
        baseline = try options.string("baseline").map(Self.baseline)
        do throws(Expectation.Mistake) {
            var expectations: [Expectation] = []
            for text in options.list("expect") { expectations += try Expectation.parse(text) }
            for expectation in expectations { try expectation.check(for: plan) }
            self.expectations = expectations
        } catch {
            throw options.error("--expect: \(error)")
        }
    }

    /// Checks a file that is written at the end of the run. A run may take hours, so mistakes that are known before
    /// it are reported before it.
    private static func file(_ name: String, _ options: ParsedOptions) throws -> String? {
        guard let path = options.string(name) else { return nil }
        let folder = URL(filePath: path).deletingLastPathComponent().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let isFolder = attributes?[.type] as? FileAttributeType == .typeDirectory
        guard FileManager.default.isWritableFile(atPath: folder), !isFolder else {
            throw options.error("--\(name) must be a file in a directory that can be written, not '\(path)'")
        }
        return path
    }

    private static func baseline(_ file: String) throws -> LoadResult {
        let text = try FileText.read(file, "The earlier result")
        guard let result = try? JSONDecoder().decode(LoadResult.self, from: Data(text.utf8)),
            result.schema == LoadResult.schemaVersion
        else {
            throw CommandFailure(
                "The file \(file) holds no result of this version: give one that --save or --json wrote.",
                exitCode: 2)
        }
        return result
    }

    // MARK: The plan

    private static func plan(_ options: ParsedOptions) throws -> LoadPlan {
        let word = options.operands.first ?? LoadScenario.push.rawValue
        let plan: LoadPlan
        if word.contains(".") || word.contains("/") {
            plan = try filePlan(word, options)
        } else if let scenario = LoadScenario(rawValue: word) {
            if let name = unheard(by: scenario).first(where: options.isSet) {
                throw options.error("--\(name) says nothing to the scenario \(word); leave it out")
            }
            plan = scenario.plan(try settings(options))
        } else {
            let known = LoadScenario.allCases.map(\.rawValue).joined(separator: ", ")
            throw options.error("there is no scenario '\(word)'; there are \(known), and files: give a path")
        }
        return plan
    }

    /// The options that a scenario would ignore.
    private static func unheard(by scenario: LoadScenario) -> [String] {
        switch scenario {
        case .push: []
        case .idle: ["rate", "in-flight", "count", "warm-up", "payload", "absent", "now-or-never"]
        case .fanout: ["in-flight", "warm-up", "absent", "now-or-never"]
        case .storm, .offline, .mixed, .soak: ["warm-up", "absent"]
        }
    }

    private static func check(_ plan: LoadPlan, at place: LoadPlace, _ options: ParsedOptions) throws {
        var most = plan.fleet.providers
        if place.hasDevices {
            most = min(most, plan.fleet.devices)
        } else if plan.needsDevices {
            throw options.error(
                "a server that has no devices can take pushes only, such as the scenario push")
        }
        guard plan.fleet.threads <= most else {
            throw options.error(
                "\(plan.fleet.threads) threads are too many: each needs a provider and a device of its own")
        }
        let connections = plan.fleet.providers + (place.hasDevices ? plan.fleet.devices : 0)
        try DescriptorNeed.fleet(connections: connections).check()
    }

    /// Reads a plan from a file. Options that belong into the file are refused.
    private static func filePlan(_ path: String, _ options: ParsedOptions) throws -> LoadPlan {
        if let name = LoadCommand.planOptions.map(\.name).first(where: options.isSet) {
            throw options.error("--\(name) does not go with a scenario file: write it there")
        }
        let text = try FileText.read(path, "The scenario file")
        do throws(YAMLError) {
            return try LoadPlan(text: text, file: path)
        } catch {
            throw CommandFailure("\(error)", exitCode: 2)
        }
    }

    private static func settings(_ options: ParsedOptions) throws -> LoadScenario.Settings {
        var settings = LoadScenario.Settings()
        settings.devices = try options.integer("devices", in: 1...1_000_000)
        settings.apps = try options.integer("apps", in: 1...64)
        settings.providers = try options.integer("providers", in: 1...10_000)
        settings.streams = try options.integer("streams", in: 1...10_000)
        settings.threads = try options.integer("threads", in: 1...64)
        settings.sources = try options.integer("sources", in: 1...60_000)
        settings.connectionsPerSecond = try options.integer("connect-rate", in: 1...1_000_000)
        settings.inFlight = try options.integer("in-flight", in: 1...10_000_000)
        settings.count = try options.integer("count", in: 1...1_000_000_000)
        settings.payloadBytes = try options.integer("payload", in: 32...Limits.payloadBytes)
        settings.seed = try options.integer("seed", in: 0...Int.max).map { UInt64($0) }
        settings.areAbsent = options.isSet("absent")
        settings.isNowOrNever = options.isSet("now-or-never")
        settings.milliseconds = try time(options, "for")
        settings.warmUpMilliseconds = try time(options, "warm-up")
        if let text = options.string("rate") {
            guard let rate = Double(text), rate >= 0.001, rate <= 10_000_000 else {
                throw options.error(
                    "--rate must be a number of pushes a second from 0.001 to 10000000, not '\(text)'")
            }
            settings.perSecond = rate
        }
        guard settings.perSecond == nil || settings.inFlight == nil else {
            throw options.error("--rate and --in-flight are two ways to pace pushes; give one of them")
        }
        return settings
    }

    private static func time(_ options: ParsedOptions, _ name: String) throws -> Int? {
        guard let text = options.string(name) else { return nil }
        let units = [("ms", 1.0), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
        for (unit, worth) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), number >= 0 else { continue }
            guard number * worth <= Double(LoadPlan.longestStepMilliseconds) else {
                throw options.error("--\(name) may be three days at most, not '\(text)'")
            }
            return Int(number * worth)
        }
        throw options.error("--\(name) must be a length of time such as 500ms, 10s, 5m or 2h, not '\(text)'")
    }

    // MARK: Processors

    private static func processors(_ options: ParsedOptions) throws -> [Int] {
        guard let text = options.string("processors") else { return [] }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.allSatisfy({ ($0 ?? -1) >= 0 }) else {
            throw options.error("--processors must be numbers of processors such as 1 or 2,3, not '\(text)'")
        }
        // Worker threads fall back to any processor if theirs does not exist, and the figures would be of something
        // else.
        let usable = usableProcessors
        if let number = numbers.compactMap(\.self).first(where: { usable?.contains($0) == false }) {
            throw options.error("--processors: \(number) is no processor that this process may use")
        }
        return numbers.compactMap(\.self)
    }

    /// The processors that the kernel lets this process run on, read from a list such as `0-3,8`; nil if the kernel
    /// does not tell.
    private static var usableProcessors: Set<Int>? {
        let name = "Cpus_allowed_list:"
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let lines = status?.split(separator: "\n") ?? []
        guard let line = lines.first(where: { $0.hasPrefix(name) }) else { return nil }
        var numbers: Set<Int> = []
        for part in line.dropFirst(name.count).split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers
    }
}
