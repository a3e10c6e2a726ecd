import PostriderCommands
import PostriderRelay

/// The trace as text output.
enum TraceListing {
    /// All events of one push.
    static func life(of push: Control.TracedPush, in trace: Control.Trace) -> String {
        let provider = push.key.map { "key \($0)" } ?? (push.hasCertificate ? "a certificate" : "not known")
        let expiration = push.expiresAt.map { "kept until \(Listing.time($0))" } ?? "now or never"
        let facts: [(String, String)] = [
            ("push", push.identity), ("unique", push.uniqueIdentity ?? ""),
            ("topic", "\(push.topic), \(push.environment)"), ("device", push.device ?? ""),
            ("channel", push.channel ?? ""), ("node", push.node ?? ""), ("provider", provider),
            (
                "what",
                "\(push.pushType ?? "no push type"), priority \(push.priority), \(push.payloadBytes) bytes"
                    + (push.collapses ? ", collapses" : "") + ", \(expiration)"
            ),
            ("state", state(of: push)),
        ]
        let head = facts.filter { !$0.1.isEmpty }.map { Listing.fact($0, Listing.printable($1), from: 10) }
        let rows = rows(of: push, in: trace)
        let table =
            push.events.contains { $0.node != nil }
            ? Listing.columns(["MOMENT", "AFTER", "NODE", "WHAT"], rows)
            : Listing.columns(["MOMENT", "AFTER", "WHAT"], rows.map { [$0[0], $0[1], $0[3]] })
        let note = push.isCut ? "\nThere were more events; the last one is the last." : ""
        return head.joined(separator: "\n") + "\n\n" + table + note + losses(of: trace)
    }

    /// One line for each push.
    static func list(_ trace: Control.Trace) -> String {
        let rows = trace.pushes.map { push in
            let end = push.events.last.map { duration($0.at - push.acceptedAt) } ?? ""
            let target = push.device ?? "a channel"
            return [
                Listing.preciseTime(push.acceptedAt), push.identity, push.topic, target, state(of: push), end,
            ]
        }
        return Listing.columns(["ACCEPTED", "APNS-ID", "TOPIC", "DEVICE", "STATE", "AFTER"], rows)
            + (trace.sample > 1 ? "\nOne push of \(trace.sample) is traced." : "") + losses(of: trace)
    }

    /// The refused pushes.
    static func refusals(_ trace: Control.Trace) -> String {
        let rows = trace.refusals.map { refusal in
            [
                Listing.preciseTime(refusal.at), refusal.identity ?? "no apns-id",
                "\(refusal.status) \(refusal.reason)",
                refusal.topic ?? "", "\(refusal.environment)",
                "connection \(refusal.connection) of shard \(refusal.shard)"
                    + (refusal.node.map { " of node \($0)" } ?? ""),
            ].map(Listing.printable)
        }
        let untold =
            trace.untoldRefusals == 0
            ? "" : "\n\(trace.untoldRefusals) more were refused, too many in a second to be told of."
        return Listing.columns(["REFUSED", "APNS-ID", "WITH", "TOPIC", "ENVIRONMENT", "ON"], rows) + untold
    }

    /// One line for an event, for a user who follows the trace.
    static func line(_ event: TraceFollower.Event) -> String {
        let what = event.event.map(words) ?? accepted(event.push)
        let after = event.event == nil ? "" : " (\(duration(event.at - event.push.acceptedAt)))"
        let node = (event.event?.node ?? event.push.node).map { " at node \($0)" } ?? ""
        let push = "\(event.push.identity)  \(event.push.topic)"
        return Listing.printable("\(Listing.preciseTime(event.at))  \(push)  \(what)\(after)\(node)")
    }

    /// The state of a push in one word.
    static func state(of push: Control.TracedPush) -> String {
        if push.channel != nil { return "broadcast to \(devices(of: push, "broadcast"))" }
        // A push that was replaced may have been recalled afterwards.
        let last = push.events.last { $0.isEnding || $0.what == "recalled" }
        switch last?.what {
        case nil, "recalled": return "pending"
        case "acknowledged":
            let outcome = push.events.last { ["done", "gaveUp"].contains($0.what) }
            return switch outcome?.what {
            case "done": "done"
            case "gaveUp": "delivered, failed"
            default: "delivered"
            }
        case "dropped": return "dropped: \(last?.cause ?? "?")"
        case let what?: return what
        }
    }

    private static func devices(of push: Control.TracedPush, _ what: String) -> String {
        count(push.events.filter { $0.what == what }.reduce(0) { $0 + ($1.devices ?? 0) })
    }

    private static func count(_ devices: UInt64) -> String { "\(devices) device\(devices == 1 ? "" : "s")" }

    /// Time, duration, node and words of each event.
    private static func rows(of push: Control.TracedPush, in trace: Control.Trace) -> [[String]] {
        let isOver = push.events.contains(where: \.isEnding)
        let end = isOver ? push.events.map(\.at).max() ?? .max : .max
        let starts = trace.starts.filter { $0 >= push.acceptedAt && $0 <= end }
            .map { (at: $0, node: "", text: "the relay was started again") }
        // The events are in the order in which they happened, which differs from the order of their times if the
        // clock was set back. At equal times, a start comes after what the relay reported before it.
        var rest = starts[...]
        var rows = [(at: push.acceptedAt, node: push.node ?? "", text: accepted(push))]
        for event in push.events {
            while let start = rest.first, start.at < event.at { rows.append(rest.removeFirst()) }
            rows.append((event.at, event.node ?? "", words(event)))
        }
        return (rows + rest).map {
            [Listing.preciseTime($0.at), duration($0.at - push.acceptedAt), $0.node, $0.text]
        }
    }

    private static func accepted(_ push: Control.TracedPush) -> String {
        "accepted: \(push.payloadBytes) bytes for "
            + (push.device.map { "device \($0)" } ?? "channel \(push.channel ?? "?")")
    }

    private static func words(_ event: Control.TracedEvent) -> String {
        let other = event.other.map { "push \($0)" } ?? "one that the trace does not know"
        switch event.what {
        case "stored": return "stored: it is on the disk"
        case "sent":
            return "sent to connection \(event.connection.map(String.init) ?? "?") of shard "
                + (event.shard.map(String.init) ?? "?")
        case "returned": return "its connection was lost before the device acknowledged it; it waits again"
        case "recalled": return "what had replaced it could not be stored; it waits again"
        case "acknowledged": return "acknowledged: the device has it"
        case "replaced": return "replaced by \(other)"
        case "merged": return "merged with \(other): the provider sent the same push twice"
        case "expired": return "expired"
        case "discarded": return "discarded: it was now or never, and the device was not there or left"
        case "dropped": return "dropped: \(event.cause.map(because) ?? "nobody knows why")"
        case "broadcast": return "sent to \(place(event))"
        case "skipped": return "not sent to \(place(event)): too much waited there"
        case "handedOver": return "the app has taken it" + onDevice(event)
        case "shown": return "the user was shown it" + onDevice(event)
        case "actedOn": return "the user has acted on it" + onDevice(event)
        case "replacedOnDevice":
            return "a newer one took its place before the app was given it" + onDevice(event)
        case "begun": return "its handler was started" + onDevice(event)
        case "done": return "done: its handler has ended well" + onDevice(event)
        case "failed": return "failed, it will be tried again" + onDevice(event)
        case "gaveUp": return "failed for good: it is a dead letter on the device" + onDevice(event)
        case "postponed": return "its handler asks to be started later" + onDevice(event)
        default: return event.what
        }
    }

    private static func place(_ event: Control.TracedEvent) -> String {
        "\(count(event.devices ?? 0)) of shard \(event.shard.map(String.init) ?? "?")"
    }

    private static func onDevice(_ event: Control.TracedEvent) -> String {
        (event.deviceAt.map { ", says the device; its clock said \(Listing.preciseTime($0))" } ?? "")
            + (event.text.map { ": \(Listing.printable($0))" } ?? "")
    }

    private static func because(_ cause: String) -> String {
        switch cause {
        case "overflow": "overflow, too many waited for the app"
        case "unregistered": "unregistered, the app does not want it any more"
        case "unstorable": "unstorable, the store failed and the provider was told so"
        case "unreadable": "unreadable, the store had lost it"
        case "removed": "removed, the operator has removed the device"
        case "cancelled": "cancelled by its sender"
        default: cause
        }
    }

    private static func losses(of trace: Control.Trace) -> String {
        trace.lost == 0
            ? ""
            : "\nThe trace has lost \(trace.lost) records since the relay was started; lives may have gaps."
    }

    /// Formats milliseconds in the two largest units that are not 0.
    static func duration(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        switch milliseconds {
        case ..<(-9_999): return "-" + duration(0 - milliseconds)
        case ..<10_000: return "\(milliseconds) ms"
        case ..<600_000: return "\(seconds).\(milliseconds % 1000 / 100) s"
        case ..<86_400_000: return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }
}
