import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay

/// `postrider trace`: shows where a push is, and what has happened to it.
enum TraceCommand: Command {
    static let name = "trace"
    static let summary = "Show the life of a push, or of the latest ones."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let order = try TraceArguments(options)
        let client = ControlClient(address: try ControlAddress.find(options))
        if options.isSet("follow") { return try await follow(order, client, asJSON: options.isSet("json")) }
        let (trace, text) = try await ask(order, client)
        if options.isSet("json") {
            Console.say(text)
        } else if order.isAboutRefusals {
            Console.say(TraceListing.refusals(trace))
        } else if order.identity == nil {
            Console.say(TraceListing.list(trace))
        } else {
            let lives = trace.pushes.map { TraceListing.life(of: $0, in: trace) }
            let refusals = trace.refusals.isEmpty ? [] : [TraceListing.refusals(trace)]
            if !(lives + refusals).isEmpty { Console.say((lives + refusals).joined(separator: "\n\n")) }
        }
        guard trace.isEmpty, let identity = order.identity else { return 0 }
        throw CommandFailure(
            "The trace has no push \(identity): it never came, is too long ago, or is not "
                + "in the sample (1 of \(trace.sample)).")
    }

    /// Requests a push by its identifier repeatedly for up to a second until the trace has it, because an event
    /// reaches the trace a moment after the provider gets the answer.
    private static func ask(_ order: TraceArguments, _ client: ControlClient) async throws
        -> (item: Control.Trace, text: String)
    {
        var answer = try await client.list(order.path, of: Control.Trace.self)
        for _ in 0..<5 where order.identity != nil && answer.item.isEmpty {
            try await Task.sleep(for: .milliseconds(2 * Limits.traceDelayMilliseconds))
            answer = try await client.list(order.path, of: Control.Trace.self)
        }
        return answer
    }

    /// Prints events as they happen, until the user ends the command or the reader is gone.
    private static func follow(_ order: TraceArguments, _ client: ControlClient, asJSON: Bool) async throws
        -> Int32
    {
        var cursor: String?
        var follower = TraceFollower(order)
        while true {
            let path = "/v1/trace?follow" + (cursor.map { "=" + $0 } ?? "")
            let (feed, _) = try await client.list(path, of: Control.TraceFeed.self)
            for event in follower.take(feed) {
                let line = asJSON ? try Console.json(event) : TraceListing.line(event)
                guard Console.say(line) else { return 0 }
            }
            // While the relay has more events than fit into one answer, there is no pause.
            if feed.pushes.isEmpty && feed.events.isEmpty || cursor == nil {
                try await Task.sleep(for: .milliseconds(300))
            }
            cursor = feed.cursor
        }
    }

    static let table = OptionTable(
        command: "postrider trace",
        summary: """
            Show the life of a push: when it was accepted and stored, to which connection it was sent, and \
            whether it was acknowledged, replaced, has expired, was dropped or refused. Without an identity, \
            list the latest pushes.
            """,
        operands: [.optional("APNS-ID")],
        options: [
            .value("device", "IDENTITY", "Only pushes to this device."),
            .value("topic", "TOPIC", "Only pushes to this app."),
            .value(
                "last", "NUMBER",
                "The number of latest pushes; 50 if not given, \(Limits.tracedPushes) at most."),
            .flag("refused", "List pushes that were refused."),
            .flag("follow", short: "f", "Show new events as they happen, until Control-C."),
        ] + ControlAddress.folderOptions + [
            .flag("json", "Print the relay's answer, as JSON; with --follow one line for each event.")
        ],
        examples: [
            .init(
                "The life of a push, by its apns-id or apns-unique-id",
                "postrider trace 6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D"),
            .init(
                "The last ten pushes to a device",
                "postrider trace --device 0123456789abcdef01234567 --last 10"),
            .init("The latest refused pushes and the reasons", "postrider trace --refused"),
            .init("Follow pushes to an app", "postrider trace --topic com.example.app --follow"),
        ]
    )
}

extension Control.Trace {
    /// Whether the answer contains nothing that was asked for.
    fileprivate var isEmpty: Bool { pushes.isEmpty && refusals.isEmpty }
}

/// The selection of pushes that the user asks for.
struct TraceArguments {
    let identity: String?
    let device: String?
    let topic: String?
    let last: Int?
    let isAboutRefusals: Bool

    init(_ options: ParsedOptions) throws {
        identity = options.operands.first
        device = options.string("device")
        topic = options.string("topic")
        last = try options.integer("last", in: 1...Limits.tracedPushes)
        isAboutRefusals = options.isSet("refused")
        if let identity, NotificationIdentity(identity) == nil {
            throw options.error("'\(identity)' is no apns-id; that is a UUID of 36 characters")
        }
        if let device, DeviceIdentity(hex: device) == nil {
            throw options.error("--device must be 24 hexadecimal digits, not '\(device)'")
        }
        if let topic, Topic(topic) == nil {
            throw options.error("--topic must be a bundle identifier such as com.example.app, not '\(topic)'")
        }
        if options.isSet("follow"), last != nil || isAboutRefusals {
            throw options.error(
                "--follow tells of what is accepted from now on; it takes no --last and no --refused")
        }
        if isAboutRefusals, device != nil {
            throw options.error("--refused takes no --device: a push that is refused has come to none")
        }
    }

    /// The path of the request to the relay.
    var path: String {
        let parts: [(String, String?)] = [
            ("id", identity), ("device", device), ("topic", topic), ("last", last.map(String.init)),
        ]
        let query =
            parts.compactMap { name, value in value.map { "\(name)=\($0)" } }
            + (isAboutRefusals ? ["refused"] : [])
        return "/v1/trace" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// Whether a push is in the selection.
    func wants(_ push: Control.TracedPush) -> Bool {
        if let identity {
            let isNamed = [push.identity, push.uniqueIdentity].contains {
                $0?.lowercased() == identity.lowercased()
            }
            guard isNamed else { return false }
        }
        return (device.map { push.device?.lowercased() == $0.lowercased() } ?? true)
            && (topic.map { push.topic == $0 } ?? true)
    }
}

/// Follows the trace. It knows only pushes that were accepted since it began.
struct TraceFollower {
    /// An event together with its push.
    struct Event: Encodable {
        let push: Control.TracedPush
        /// The event; nil if the push was accepted.
        let event: Control.TracedEvent?
    }

    private let order: TraceArguments
    private var pushes: [Int64: Control.TracedPush] = [:]
    private var rows: [Int64] = []
    /// The most pushes that are remembered.
    private static let most = 10_000

    init(_ order: TraceArguments) { self.order = order }

    /// Returns the events of an answer that the user wants to see, in the order of time.
    mutating func take(_ feed: Control.TraceFeed) -> [Event] {
        let wanted = feed.pushes.filter(order.wants)
        for push in wanted {
            pushes[push.row] = push
            rows.append(push.row)
        }
        var events = wanted.map { Event(push: $0, event: nil) }
        for event in feed.events {
            guard let push = push(of: event) else { continue }
            events.append(Event(push: push, event: event))
        }
        let surplus = max(rows.count - Self.most, 0)
        for row in rows.prefix(surplus) { pushes[row] = nil }
        rows.removeFirst(surplus)
        // The sort is stable: at the same moment, acceptances come first.
        return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element)
    }

    /// The push of an event. An event reported by a device names no row.
    private func push(of event: Control.TracedEvent) -> Control.TracedPush? {
        guard let identity = event.identity else { return pushes[event.row] }
        let row = rows.last { pushes[$0]?.identity == identity && pushes[$0]?.device == event.device }
        return row.flatMap { pushes[$0] }
    }
}

extension TraceFollower.Event {
    /// When it happened, in milliseconds since 1970.
    var at: Int64 { event?.at ?? push.acceptedAt }
}
