import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// `postrider send`: sends pushes as a provider does.
enum SendCommand: Command {
    static let name = "send"
    static let summary = "Push to devices, as a provider does."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        if let file = options.string("replay") {
            try requireNothingBeside(replay: options)
            return try await ReplayCommand.replay(file, options)
        }
        guard !options.isSet(ReplayCommand.speed.name) else {
            throw options.error("--\(ReplayCommand.speed.name) goes with --replay")
        }
        var targets: [SendTarget]?
        if let group = try SendGroup(options) {
            let topic = try SendArguments.topic(options)
            targets =
                try SendGroup.namesProviderPort(options)
                ? await group.targets(
                    of: topic, at: SendArguments.choice(options).server,
                    as: SendArguments.signer(options, nil))
                : await group.targets(of: topic, SendGroup.control(options))
        }
        let order = try SendArguments(options, group: targets)
        if let wait = try SendWait(options) {
            return try await WaitedSend(order, wait, isJSON: options.isSet("json")).run()
        }
        let outcomes = try await push(order, order.addressees.map { order.push(to: $0.token) })
        if case .failure(.notConnected(let reason)) = outcomes[0], !options.isSet("json") {
            throw CommandFailure.notConnected(to: order.relay.destination, reason)
        }
        for (target, outcome) in zip(order.addressees, outcomes) {
            try tell(outcome, target, isAlone: order.addressees.count == 1, asJSON: options.isSet("json"))
        }
        return outcomes.allSatisfy { (try? $0.get().isAccepted) == true } ? 0 : 1
    }

    /// Refuses everything that a file of captures says already.
    private static func requireNothingBeside(replay options: ParsedOptions) throws {
        let known = Set(ReplayCommand.table.options.map(\.name) + ["replay"])
        let other = table.options.first { options.isSet($0.name) && !known.contains($0.name) }
        guard let extra = other.map({ "--\($0.name)" }) ?? options.operands.first else { return }
        throw options.error(
            "--replay pushes what its file has, to the devices that its file names; leave out \(extra)")
    }

    /// Sends all pushes over one connection, and waits for all outcomes.
    static func push(
        _ order: SendArguments, _ pushes: [Push]
    ) async throws -> [Result<PushOutcome, ClientError>] {
        try await LoopThread.run("send") { loop in
            let client = ProviderClient(
                to: order.relay, tokens: order.signer, on: loop,
                timeoutMilliseconds: order.timeoutMilliseconds)
            var outcomes = [Result<PushOutcome, ClientError>?](repeating: nil, count: pushes.count)
            client.onClose = { [unowned loop] _ in loop.stop() }
            for (index, push) in pushes.enumerated() {
                try client.push(push) { [unowned client] outcome in
                    outcomes[index] = outcome
                    if client.openPushes == 0 { client.close() }
                }
            }
            return {
                withExtendedLifetime(client) { outcomes.map { $0 ?? .failure(.unprocessed) } }
            }
        }
    }

    private struct Line: Encodable {
        let token: String
        let device: String?
        var status: Int?
        var apnsIdentity: String?
        var reason: String?
        var timestamp: Int64?
        var failure: String?

        enum CodingKeys: String, CodingKey {
            case token, device, status, reason, timestamp, failure
            case apnsIdentity = "apns-id"
        }
    }

    /// Prints one line for each push: its outcome to stdout, or the error to stderr.
    private static func tell(
        _ outcome: Result<PushOutcome, ClientError>, _ target: SendTarget, isAlone: Bool, asJSON: Bool
    ) throws {
        var line = Line(token: target.token, device: target.name)
        let name = target.name ?? target.token
        switch outcome {
        case .success(let outcome):
            line.status = outcome.status
            line.apnsIdentity = outcome.identity
            line.reason = outcome.reason
            line.timestamp = outcome.timestamp?.milliseconds
            let words = [
                isAlone ? nil : name, String(outcome.status), outcome.identity, outcome.reason,
                outcome.timestamp.map { "since \(Listing.time($0.milliseconds))" },
            ]
            if !asJSON { Console.say(Listing.printable(words.compactMap { $0 }.joined(separator: " "))) }
        case .failure(let error):
            line.failure = error.description
            if !asJSON { Console.complain("postrider: \(isAlone ? "" : name + ": ")\(error).") }
        }
        if asJSON { Console.say(try Console.json(line)) }
    }
}
