import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderLoad
import PostriderNotifications
import PostriderOptions
import PostriderTLS
import PostriderTransport

/// Carries out the arguments: selects the server to load, and the keys.
extension LoadArguments {
    /// The outcome of a load run.
    struct Outcome {
        let result: LoadResult
        /// Whether everything that the run made at a relay of another was removed.
        var isTidy = true
    }

    /// Runs the plan and returns the outcome.
    func carryOut(watch: (@Sendable (LoadProgress) -> Void)?) async throws -> Outcome {
        switch place {
        case .own(let folder, let settings, let processors, let scenario):
            let relay = try await SpawnedRelay.start(
                topics: topics, in: folder, settings: settings, processors: processors, scenario: scenario)
            let result: Result<LoadResult, any Error>
            do {
                result = .success(
                    try await run(on: try target(relay.values), try relay.values.control, watch))
            } catch {
                result = .failure(error)
            }
            // If the relay ended during the run, the figures are not those of a relay.
            guard await relay.stop() || Task.isCancelled else {
                throw CommandFailure(
                    "The relay that was measured has ended before the run did; what it said stands above.")
            }
            return Outcome(result: try result.get())
        case .relay(let provider, let device, let control):
            let provision = try await TemporaryCredentials.make(
                ControlClient(address: control), apps: plan.fleet.apps)
            return try await tidied(provision.remove) {
                try await run(on: try target(provider, device, provision), control, watch)
            }
        case .dev(let values):
            var target = try target(values)
            let control = try values.control
            var enrolment = try await FleetEnrolment.make(ControlClient(address: control))
            enrolment.keepsDevices = options.isSet("keep-devices")
            target.devices?.enrolmentKey = enrolment.key
            target.devices?.namePrefix = enrolment.name
            return try await tidied(enrolment.remove) { [target] in
                try await run(on: target, control, watch)
            }
        case .providerOnly(let text, let tokens):
            return Outcome(result: try await run(on: try target(text, tokens), nil, watch))
        }
    }

    /// Removes what was made for a run, whether the run succeeded or not.
    private func tidied(
        _ remove: () async -> Bool, _ run: () async throws -> LoadResult
    ) async throws -> Outcome {
        do {
            let result = try await run()
            return Outcome(result: result, isTidy: await remove())
        } catch {
            _ = await remove()
            throw error
        }
    }

    /// - Parameter control: the relay's control socket, which reports what the relay gave up; nil if it has none.
    private func run(
        on target: LoadTarget, _ control: SocketAddress?, _ watch: (@Sendable (LoadProgress) -> Void)?
    ) async throws -> LoadResult {
        // End the progress line before printing anything else, such as errors of removal.
        defer { if watch != nil { ProgressLine.end() } }
        var target = target
        target.devices?.tags = tags
        let run = LoadRun(plan, on: target, processors: processors, watch: watch ?? { _ in })
        guard let control else { return try await run.run() }
        let before = await RelayLosses.counted(at: control)
        var result = try await run.run()
        if let before, let after = await RelayLosses.counted(at: control) {
            result.relayLosses = after.filter { $0.value > before[$0.key, default: 0] }
                .reduce(into: [:]) { $0[$1.key] = $1.value - before[$1.key, default: 0] }
        }
        return result
    }

    /// The topics: one for each app of a device.
    private var topics: [Topic] {
        (0..<plan.fleet.apps).compactMap { Topic("com.example.load\($0 == 0 ? "" : "-\($0)")") }
    }

    private func target(_ values: DevValues) throws -> LoadTarget {
        let tls = try TLSContext.client(trustFile: values.authorityFile, alpn: ["h2"])
        let known = values.topics.compactMap { Topic($0) }
        guard known.count >= plan.fleet.apps else {
            throw CommandFailure(
                "The relay has \(known.count) topics and devices are to have \(plan.fleet.apps) apps: give "
                    + "'postrider dev' more of them with --topic.", exitCode: 2)
        }
        var target = LoadTarget(
            provider: .address(try SocketAddress(host: values.host, port: values.providerPort)),
            providerTLS: tls,
            providerName: values.host,
            signer: try .reading(values.keyFile, key: values.keyIdentifier, team: values.team),
            topics: Array(known.prefix(plan.fleet.apps)),
            devices: .init(
                address: try SocketAddress(host: values.host, port: values.devicePort), tls: tls,
                name: values.host,
                enrolmentKey: values.enrolmentKey))
        target.process = values.process
        return target
    }

    /// A running relay as the target, with the credentials made for this run.
    private func target(_ provider: String, _ device: String, _ provision: TemporaryCredentials) throws
        -> LoadTarget
    {
        let providers = try destination(provider, "relay")
        let devices = try destination(device, "device-relay")
        guard let host = providers.host, case .address(let address) = devices, let deviceHost = address.host
        else {
            throw options.error("--relay must be a host and a port, --device-relay an address and a port")
        }
        let tls = try TLSContext.client(trustFile: options.string("ca"), alpn: ["h2"])
        let name = options.string("server-name")
        var target = LoadTarget(
            provider: providers, providerTLS: tls, providerName: name ?? host, signer: provision.signer,
            topics: provision.topics,
            devices: .init(
                address: address, tls: tls, name: name ?? deviceHost, enrolmentKey: provision.enrolment.key))
        target.devices?.namePrefix = provision.enrolment.name
        target.process = try process()
        return target
    }

    private func destination(_ text: String, _ option: String) throws -> Destination {
        do throws(TransportError) {
            return try Destination(text)
        } catch {
            throw options.error("--\(option): \(error)")
        }
    }

    private func process() throws -> Int32? {
        guard let number = try options.integer("process", in: 1...Int(Int32.max)) else { return nil }
        guard FileManager.default.isReadableFile(atPath: "/proc/\(number)/smaps_rollup") else {
            throw options.error(
                "--process \(number) is no process of this machine that this user may look at")
        }
        return Int32(number)
    }

    /// Any server as the target.
    private func target(_ text: String, _ tokensFile: String?) throws -> LoadTarget {
        let destination = try destination(text, "target")
        guard let host = destination.host else { throw options.error("--target must name a host and a port") }
        guard let topic = Topic(options.string("topic") ?? "com.example.load") else {
            throw options.error("--topic must be a bundle identifier such as com.example.app")
        }
        var target = LoadTarget(
            provider: destination,
            providerTLS: try TLSContext.client(
                trustFile: options.string("ca"), alpn: ["h2"],
                certificateChainFile: options.string("certificate"),
                privateKeyFile: options.string("private-key")),
            providerName: options.string("server-name") ?? host, signer: try signer(), topics: [topic],
            devices: nil)
        target.tokens = try tokens(tokensFile)
        target.process = try process()
        return target
    }

    /// Signs provider tokens with the user's key; nil if a certificate authenticates the provider. Without either, it
    /// is a random key that no server knows.
    private func signer() throws -> ProviderTokenMaker? {
        if let file = options.string("key-file") {
            return try ProviderTokenMaker.reading(
                file, key: options.requiredString("key-id"), team: options.requiredString("team-id"))
        }
        guard !options.isSet("certificate") else { return nil }
        return ProviderTokenMaker(
            key: ES256.PrivateKey.generate(), keyIdentifier: "LOADKEY001", team: "LOADTEAM01")
    }

    private func tokens(_ file: String?) throws -> [String] {
        guard let file else {
            let entropy = Entropy()
            return (0..<plan.fleet.devices).map { _ in Hexadecimal.text(entropy.bytes(DeviceToken.byteCount))
            }
        }
        let tokens = try FileText.read(file, "The file of tokens").split(whereSeparator: \.isWhitespace)
        guard let first = tokens.first,
            tokens.allSatisfy({ $0.count == first.count && $0.allSatisfy { $0.isASCII && $0.isHexDigit } })
        else {
            throw CommandFailure(
                "The file of tokens \(file) must hold device tokens in hexadecimal digits, all of one "
                    + "length.",
                exitCode: 2)
        }
        return tokens.map(String.init)
    }
}
