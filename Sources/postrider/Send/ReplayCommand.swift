import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// `postrider replay`: pushes again what was captured.
enum ReplayCommand: Command {
    static let name = "replay"
    static let summary = "Push captured pushes again, at the times at which they came."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        return try await replay(options.operands[0], options)
    }

    /// Pushes what a file has, and returns the exit code.
    ///
    /// - Parameter options: of this command, or of `postrider send --replay`, which has the same ones.
    static func replay(_ path: String, _ options: ParsedOptions) async throws -> Int32 {
        let speed = try speed(options)
        let choice = try SendArguments.choice(options)
        let signer = try SendArguments.signer(options, choice.dev)
        let now = Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let file = try ReplayFile(try FileText.read(path, "The file of captures"), file: path, now: now)
        guard !file.items.isEmpty else {
            throw CommandFailure("\(path) has no push to a device token.", exitCode: 2)
        }
        let result = try await LoopThread.run("replay") { loop in
            let replay = Replay(file, to: choice.server, signer, speed: speed, on: loop)
            replay.begin()
            return { withExtendedLifetime(replay) { replay.result } }
        }
        if let reason = result.neverConnected {
            throw CommandFailure.notConnected(to: choice.server.destination, reason)
        }
        Console.say(options.isSet("json") ? try Console.json(result) : result.sentence)
        return result.failed == 0 ? 0 : 1
    }

    /// How many times as fast as the captures; nil for as fast as possible.
    private static func speed(_ options: ParsedOptions) throws(UsageError) -> Double? {
        guard let text = options.string("speed") else { return 1 }
        if text == "max" { return nil }
        guard let speed = Double(text), (0.001...1000).contains(speed) else {
            throw options.error("--speed must be max, or a number from 0.001 to 1000, not '\(text)'")
        }
        return speed
    }

    static let speed = Option.value(
        "speed", "NUMBER|max",
        "For a replay: how many times as fast as it was captured, such as 10 or 0.5; 1 if not given. max: at "
            + "once.")

    static let table = OptionTable(
        command: "postrider replay",
        summary: """
            Push what was captured again, to the relay of 'postrider dev' or to another one. A push has \
            the device token, the payload, the topic, the push type, the priority and the collapse-id of \
            the capture, an expiration that is as far away as it was, and a new apns-id. Captures that are \
            no pushes to a device token are skipped. The exit code is 0 if every push was answered. \
            'postrider send --replay FILE' is the same.
            """,
        operands: [.required("FILE")],
        options: [speed] + RelayResolver.options(.provider) + SendCommand.provider + [
            .flag("json", "Print the result as one line of JSON.")
        ],
        examples: [
            .init("Keep what was sent, and push it again", "postrider captures --lines > day.jsonl"),
            .init("Push it again, ten times as fast", "postrider replay --speed 10 day.jsonl"),
            .init("The same from an HTTP Archive", "postrider replay --speed 10 day.har"),
        ]
    )
}

/// What came of a replay.
struct ReplayResult: Encodable, Sendable {
    /// The number of pushes of the file.
    let pushes: Int
    /// Captures that were no pushes to a device token.
    let skipped: Int
    /// Pushes that were answered with 200.
    var accepted = 0
    /// Pushes that were refused, by their reasons.
    var refused: [String: Int] = [:]
    /// Pushes without an answer.
    var failed = 0
    /// How long it took.
    var seconds = 0.0
    /// Why there was no connection at all; nil if there was one.
    var neverConnected: CloseReason?

    enum CodingKeys: String, CodingKey { case pushes, skipped, accepted, refused, failed, seconds }

    /// The result for people.
    var sentence: String {
        let reasons = refused.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(
            separator: ", ")
        let count = refused.values.reduce(0, +)
        let parts = [
            "\(accepted) of \(pushes) pushes accepted in \((seconds * 10).rounded() / 10) s",
            count > 0 ? "\(count) refused (\(reasons))" : nil, failed > 0 ? "\(failed) not answered" : nil,
            skipped > 0 ? "\(skipped) captures skipped" : nil,
        ]
        return Listing.printable(parts.compactMap(\.self).joined(separator: "; "))
    }
}

/// Pushes the items of a file at their times, over one connection, or the next one when that has ended.
private final class Replay {
    private let file: ReplayFile
    private let server: Server
    private let signer: ProviderTokenMaker
    private let speed: Double?
    private unowned let loop: EventLoop
    private var client: ProviderClient?
    /// Clients whose relay accepts no further pushes.
    private var retired: [ProviderClient] = []
    private var timer: (any LoopTimer)?
    private var start: UInt64 = 0
    private var next = 0
    private var isConnected = false
    /// Items that are not answered yet.
    private var open: Int
    private(set) var result: ReplayResult

    /// For how long the timer is armed at most; then the time is looked at again.
    private static let longestMilliseconds: Int64 = 3_600_000
    /// How often a push that the relay has not processed is sent again.
    private static let mostAttempts = 3

    init(
        _ file: ReplayFile, to server: Server, _ signer: ProviderTokenMaker, speed: Double?,
        on loop: EventLoop
    ) {
        self.file = file
        self.server = server
        self.signer = signer
        self.speed = speed
        self.loop = loop
        open = file.items.count
        result = ReplayResult(pushes: file.items.count, skipped: file.skipped)
    }

    func begin() {
        start = loop.now
        timer = loop.makeTimer { [unowned self] in pushDue() }
        pushDue()
    }

    private func pushDue() {
        while next < file.items.count {
            let wait = due(file.items[next]) - Int64(loop.now - start) / 1_000_000
            guard wait <= 0 else {
                timer?.arm(afterMilliseconds: Int(min(wait, Self.longestMilliseconds)))
                return
            }
            push(file.items[next].push, attempt: 1)
            next += 1
        }
    }

    /// Milliseconds after the start.
    private func due(_ item: ReplayFile.Item) -> Int64 {
        speed.map { Int64(Double(item.offset) / $0) } ?? 0
    }

    private func push(_ push: Push, attempt: Int) {
        let client = client ?? connect()
        do throws(ClientError) {
            try client.push(push) { [unowned self, unowned client] outcome in
                ended(outcome, push, attempt, on: client)
            }
        } catch {
            ended(.failure(error), push, attempt, on: client)
        }
    }

    private func connect() -> ProviderClient {
        let made = ProviderClient(to: server, tokens: signer, on: loop)
        made.onClose = { [unowned self, unowned made] _ in
            if client === made { client = nil }
            retired.removeAll { $0 === made }
        }
        client = made
        return made
    }

    private func ended(
        _ outcome: Result<PushOutcome, ClientError>, _ push: Push, _ attempt: Int, on used: ProviderClient
    ) {
        switch outcome {
        case .success(let outcome):
            isConnected = true
            if outcome.isAccepted {
                result.accepted += 1
            } else {
                result.refused[outcome.reason ?? "\(outcome.status)", default: 0] += 1
            }
        case .failure(.unprocessed) where attempt < Self.mostAttempts:
            // The relay still answers other pushes on that connection, so it stays open.
            if client === used {
                retired.append(used)
                client = nil
            }
            return self.push(push, attempt: attempt + 1)
        case .failure(let error):
            result.failed += 1
            if case .notConnected(let reason) = error, !isConnected { result.neverConnected = reason }
        }
        open -= 1
        guard open == 0 || result.neverConnected != nil else { return }
        result.seconds = Double(loop.now - start) / 1_000_000_000
        client?.close()
        loop.stop()
    }
}
