import PostriderCommands
import PostriderNotifications
import PostriderRelay

/// Devices as text output.
enum DeviceListing {
    /// One line for each device, and below it one for each of its apps.
    static func table(_ devices: [Control.Device]) -> String {
        let table = Listing.columns(
            ["NAME", "STATE", "SINCE", "ADDRESS", "AGENT", "LEFT LAST", "PENDING", "IDENTITY", "TAGS"],
            devices.map { device in
                [
                    device.name, state(of: device), Listing.time(device.since),
                    device.address ?? "", device.agent ?? "", device.ending.map(words) ?? "",
                    "\(device.pending)", device.identity, device.tags.joined(separator: " "),
                ]
            })
        let lines = table.split(separator: "\n").map(String.init)
        let apps = devices.map { device in
            let machines = device.duplicates.map { addresses in
                "  two machines use this identity: \(addresses.joined(separator: " and ")), last at "
                    + Listing.time(device.duplicatedAt ?? 0)
            }
            let successor = device.successor.map { identity in
                let name = devices.first { $0.identity == identity }?.name ?? identity
                return "  \(name) calls itself likewise and has enrolled since: if that is the same machine, "
                    + "installed anew, run 'postrider devices remove \(device.identity)'"
            }
            let said = device.callsItself.map { "  calls itself \(Listing.printable($0))" }
            return [said, machines, successor].compactMap { $0 }
                + device.registrations.map { "  \($0.topic)  \($0.token)  \($0.environment)" }
        }
        return (lines[0...0] + zip(lines.dropFirst(), apps).flatMap { [$0] + $1 }).joined(separator: "\n")
    }

    private static func state(of device: Control.Device) -> String {
        let words = [
            device.isConnected ? "connected" : "away", device.savesPower == true ? "saves power" : nil,
            device.batteryPercent.map { "battery \($0) %" },
        ]
        return words.compactMap { $0 }.joined(separator: ", ")
    }

    /// One line for an event.
    static func line(_ event: Control.DeviceEvent) -> String {
        let what =
            switch event.what {
            case .connected: "connected from \(event.address), \(event.agent)"
            case .away: "away: \(event.ending.map(words) ?? "nobody knows why")"
            case .enrolled: "enrolled"
            case .removed: "removed"
            }
        let node = event.node.map { ", at node \($0)" } ?? ""
        return Listing.printable(
            "\(Listing.time(event.at))  \(event.identity)  \(event.name)  \(what)\(node)")
    }

    /// One line for an event of a node.
    static func line(_ event: Control.NodeEvent) -> String {
        let what =
            switch event.what {
            case .nodeMissing: "does not answer: what happens to its devices is not shown for now"
            case .nodeBack: "answers again"
            case .nodeJoined: "has joined the cluster"
            case .nodeLeft: "is not in the cluster any more: other nodes get its devices"
            case .eventsLost: "has lost events: what has happened to some of its devices is not shown"
            }
        return Listing.printable("\(Listing.time(event.at))  node \(event.node) \(what)")
    }

    /// How a connection ended, in words.
    static func words(_ ending: String) -> String {
        switch DevicePresence.Ending(rawValue: ending) {
        case .goodbye: "its agent stopped"
        case .asleep: "it went to sleep"
        case .closed: "it closed the connection"
        case .cut: "the connection was cut"
        case .silent: "it did not answer a PING"
        case .notTaken: "it did not take what was sent"
        case .protocolError: "it broke the protocol"
        case .replaced: "it had a newer connection"
        case .overloaded: "the relay asked it to come later"
        case .removed: "it was removed"
        case .relayStopped: "the relay was stopped"
        case .relayFailed: "the relay failed"
        case .moved: "it moved to another node"
        case nil: ending
        }
    }
}
