import FoundationEssentials
import Glibc
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport
import PostriderYAML

/// What `postrider send --wait` waits for.
struct SendWait: Sendable {
    let stage: PushProgress.Stage
    let milliseconds: Int
    /// The percentage of pushes that must reach the stage.
    let quorum: Double
    let source: Source

    /// Who tells how far a push has come.
    enum Source: Sendable {
        /// The answers to the pushes suffice.
        case answers
        /// The relay's control socket.
        case control(ControlClient)
        /// The relay's port for providers, if it lets the key ask.
        case providerPort
    }

    /// The default timeout in milliseconds.
    static let usualMilliseconds = 30_000

    /// The options of `postrider send` about waiting.
    static let options: [Option] = [
        .value(
            "wait", "STAGE",
            "Wait until the push is accepted, delivered, taken, shown or done. Exit codes: 0 it is so, 4 not "
                + "in time, 5 it failed. All but accepted need the relay's control socket, or with --relay a "
                + "key that the relay's lookup-keys names."),
        .value(
            "quorum", "PERCENT",
            "With --wait: the share of pushes that must reach the stage; 100% if not given."),
    ]

    /// Parses the options; nil if the command does not wait.
    init?(_ options: ParsedOptions) throws {
        guard let stage = try options.choice("wait", of: PushProgress.Stage.self) else {
            guard !options.isSet("quorum") else { throw options.error("--quorum goes with --wait") }
            return nil
        }
        guard options.list("channel").isEmpty else {
            throw options.error("--wait is for pushes to devices; nobody tells what becomes of a broadcast")
        }
        self.stage = stage
        milliseconds = try options.timeout() ?? Self.usualMilliseconds
        quorum = try Self.quorum(options)
        source =
            stage == .accepted
            ? .answers
            : SendGroup.namesProviderPort(options) ? .providerPort : .control(try SendGroup.control(options))
    }

    private static func quorum(_ options: ParsedOptions) throws -> Double {
        guard let text = options.string("quorum") else { return 100 }
        let number = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(number), percent > 0, percent <= 100 else {
            throw options.error("--quorum must be a percentage such as 95%, not '\(text)'")
        }
        return percent
    }
}

extension ParsedOptions {
    /// The timeout in milliseconds, given as a number of seconds or with a unit; nil if it is not given.
    func timeout() throws(UsageError) -> Int? {
        guard let text = string("timeout") else { return nil }
        let milliseconds = Int(text).map { $0 > 3600 ? 0 : $0 * 1000 } ?? Quantity.time.value(of: text) ?? 0
        guard (1...3_600_000).contains(milliseconds) else {
            throw error("--timeout must be a time such as 30s or 2m, an hour at most, not '\(text)'")
        }
        return milliseconds
    }
}

/// Sends pushes, and follows the relay's trace until all are settled.
struct WaitedSend {
    private let order: SendArguments
    private let wait: SendWait
    private let isJSON: Bool
    private let pushes: [Push]
    private let start = ContinuousClock.now

    /// Milliseconds between two requests to the trace while nothing happens.
    private static let pauseMilliseconds = 100
    /// The most pushes whose events are requested one by one at the end, if following the trace has not settled them.
    private static let mostAsked = 100

    init(_ order: SendArguments, _ wait: SendWait, isJSON: Bool) {
        self.order = order
        self.wait = wait
        self.isJSON = isJSON
        pushes = order.addressees.map { target in
            var push = order.push(to: target.token)
            // The trace identifies a push by this.
            push.identity = push.identity ?? NotificationIdentity(UUID().uuidString)
            return push
        }
    }

    private var elapsed: Int {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }

    /// Sends, waits, and returns the exit code.
    func run() async throws -> Int32 {
        let names = zip(order.addressees, pushes).map { target, push in
            (target, push.identity.map { "\($0)" } ?? "")
        }
        var board = WaitBoard(names, wait.stage, quorum: wait.quorum)
        let inquiry = try inquiry()
        let cursor = try await beginning(inquiry)
        let outcomes = try await SendCommand.push(order, pushes)
        for (index, outcome) in outcomes.enumerated() { board.take(outcome, of: index, after: elapsed) }
        if case .failure(.notConnected(let reason)) = outcomes[0] {
            throw CommandFailure.notConnected(to: order.relay.destination, reason)
        }
        var screen = WaitScreen(isLive: !isJSON && pushes.count > 1)
        if case .control(let control) = wait.source {
            try await follow(control, after: cursor, &board, &screen)
        } else if let inquiry {
            (board, screen) = try await inquiry.run(
                board, screen, from: elapsed, untilMilliseconds: wait.milliseconds)
        }
        screen.clear()
        try tell(board)
        return board.exitCode
    }

    /// Follows the trace until all pushes are settled or the time is over.
    private func follow(
        _ control: ControlClient, after cursor: String, _ board: inout WaitBoard, _ screen: inout WaitScreen
    ) async throws {
        var cursor = cursor
        while !board.isOver, elapsed < wait.milliseconds {
            screen.draw(board)
            // A relay that is restarted continues its trace where it was.
            let feed = try? await control.list(
                "/v1/trace?follow=\(cursor)", of: Control.TraceFeed.self
            ).item
            if let feed {
                board.take(feed, after: elapsed)
                cursor = feed.cursor
                // While the relay has more events than fit into one answer, there is no pause.
                guard feed.pushes.isEmpty, feed.events.isEmpty else { continue }
            }
            try await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
        }
        if !board.isOver { await askOnce(control, &board) }
    }

    /// Asks the relay's port for providers; nil if that is not asked.
    private func inquiry() throws -> PushInquiry? {
        guard case .providerPort = wait.source, let signer = order.signer else { return nil }
        guard pushes.count <= PushInquiry.mostPushes else {
            throw CommandFailure(
                "With a provider's key, --wait beyond accepted is for \(PushInquiry.mostPushes) devices at "
                    + "most, not \(pushes.count): use the relay's control socket, on its machine.",
                exitCode: 2)
        }
        guard let topic = pushes.first?.topic else {
            throw CommandFailure("--wait needs --topic, the bundle identifier of the app.", exitCode: 2)
        }
        return PushInquiry(
            ProviderRequest(relay: order.relay, signer: signer, topic: topic), wait.stage)
    }

    /// The position of the trace at which to begin. Throws before anything is pushed if nobody can tell how far
    /// pushes come.
    private func beginning(_ inquiry: PushInquiry?) async throws -> String {
        if let identity = pushes.first?.identity { try await inquiry?.check("\(identity)") }
        guard case .control(let control) = wait.source else { return "" }
        let known = try await control.list("/v1/trace?last=1", of: Control.Trace.self).item
        guard known.sample == 1 else {
            throw CommandFailure(
                "The relay traces one push of \(known.sample) only: without trace-sample it tells of all.")
        }
        return try await control.list("/v1/trace?follow", of: Control.TraceFeed.self).item.cursor
    }

    /// Requests the pushes that are still under way once more, because events may have been lost.
    private func askOnce(_ control: ControlClient, _ board: inout WaitBoard) async {
        let open = board.entries.filter { $0.state(wait.stage) == .underWay }
        for entry in open.prefix(Self.mostAsked) {
            let path = "/v1/trace?id=\(entry.identity)"
            guard let trace = try? await control.list(path, of: Control.Trace.self).item else { return }
            for push in trace.pushes where push.identity == entry.identity { board.take(push, elapsed) }
        }
    }

    // MARK: The end

    private struct Line: Encodable {
        let token: String
        let device: String?
        let apnsIdentity: String
        let state: String
        let wait: String
        var afterMilliseconds: Int?
        var reason: String?

        enum CodingKeys: String, CodingKey {
            case token, device, state, wait, reason
            case apnsIdentity = "apns-id"
            case afterMilliseconds = "after-milliseconds"
        }
    }

    private func tell(_ board: WaitBoard) throws {
        for entry in board.entries {
            let (state, about) = entry.words(wait.stage)
            let isReached = entry.state(wait.stage) == .reached
            if isJSON {
                var line = Line(
                    token: entry.addressee.token, device: entry.addressee.name, apnsIdentity: entry.identity,
                    state: isReached ? "reached" : state == "failed" ? "failed" : "underWay",
                    wait: wait.stage.rawValue)
                line.afterMilliseconds = entry.settledAfter
                line.reason = isReached ? nil : about
                Console.say(try Console.json(line))
            } else {
                let words = [
                    board.entries.count == 1 ? nil : entry.addressee.name ?? entry.addressee.token,
                    entry.identity, state + ":", about,
                ]
                Console.say(Listing.printable(words.compactMap { $0 }.joined(separator: " ")))
            }
        }
        guard !isJSON else { return }
        if board.entries.count > 1 { Console.say(board.summary) }
        switch board.exitCode {
        case 4:
            Console.complain(
                "postrider: Not in time: after \(TraceListing.duration(Int64(wait.milliseconds))) "
                    + "\(board.summary); it goes on without this command.")
        case 5: Console.complain("postrider: Failed: \(board.summary).")
        default: break
        }
    }
}

/// The table of a waiting send on a terminal: the pushes that are not settled, and the totals.
struct WaitScreen {
    private let isLive: Bool
    private var lines = 0

    /// The most rows of the table; it does not scroll.
    private static let mostRows = 15

    init(isLive: Bool) { self.isLive = isLive && isatty(STDOUT_FILENO) == 1 }

    /// Draws the table in place of the last one.
    mutating func draw(_ board: WaitBoard) {
        guard isLive else { return }
        let open = board.entries.filter { $0.state(board.stage) != .reached }
        let rows = open.prefix(Self.mostRows).map { entry in
            let (state, about) = entry.words(board.stage)
            let token = String(entry.addressee.token.prefix(16)) + "…"
            return [entry.addressee.name ?? token, state, about]
        }
        let table = Listing.columns(["DEVICE", "STATE", ""], Array(rows))
        let more = open.count > rows.count ? ["… and \(open.count - rows.count) more"] : []
        show(table.split(separator: "\n").map(String.init) + more + [board.summary])
    }

    /// Removes the table.
    mutating func clear() {
        guard isLive else { return }
        show([])
    }

    private mutating func show(_ text: [String]) {
        let back = lines == 0 ? "" : "\u{1B}[\(lines)A\u{1B}[J"
        lines = text.count
        let wide = text.map { String($0.prefix(100)) }
        Console.draw(back + wide.map { $0 + "\n" }.joined())
    }
}
