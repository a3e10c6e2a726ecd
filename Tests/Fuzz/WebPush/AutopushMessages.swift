import PostriderJSON
import PostriderWebPush

/// Messages of an autopush device, one a line. A line that begins with `!` is the relay: `!d` delivers a notification,
/// `!c` closes; other requests are answered at once.
enum AutopushMessages {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        var device = Device()
        for line in input.split(separator: 0x0A, omittingEmptySubsequences: true) {
            if line.first == UInt8(ascii: "!") {
                try device.step(line.dropFirst().first)
            } else {
                let text = Array(line)
                try device.handle(device.session.receive(text.span, at: 0))
            }
        }
    }

    private struct Device {
        var session = AutopushSession(at: 0)
        private var delivered = 0
        /// The versions of what was sent and is not settled, by channels.
        private var unsettled: [String: String] = [:]
        private var isClosed = false

        mutating func step(_ letter: UInt8?) throws(Contradiction) {
            switch letter {
            case UInt8(ascii: "d"):
                let hadRoom = session.hasRoom
                delivered += 1
                let version = "v\(delivered)"
                let notification = AutopushNotification(
                    channel: delivered % 3 == 0 ? "a" : "b", version: version,
                    message: WebPushMessage(.aes128gcm, [1]))
                let effects = session.deliver(notification)
                try hold(hadRoom || effects.isEmpty, "something was sent without room")
                try handle(effects)
            case UInt8(ascii: "c"): try handle(session.close(.goingAway))
            default: break
            }
        }

        /// Carries effects out as the relay does.
        mutating func handle(_ effects: [AutopushSession.Effect]) throws(Contradiction) {
            for effect in effects {
                try hold(!isClosed, "something happens after the close")
                switch effect {
                case .identify: try handle(session.identified(as: "device"))
                case .register(let channel, _):
                    try handle(session.registered(channel, at: "https://p/\(channel)"))
                case .unregister(let channel): try handle(session.unregistered(channel))
                case .settle(let version, _):
                    let channel = unsettled.first { $0.value == version }?.key
                    try hold(channel != nil, "\(version) is settled, which is not pending")
                    if let channel { unsettled[channel] = nil }
                case .turn(let version):
                    // Some messages have ended while they have waited.
                    let isOver = version.hasSuffix("3")
                    try handle(isOver ? session.withdraw(version) : session.sendWaiting(version))
                case .send(let text): try check(text)
                case .close(let close):
                    isClosed = true
                    try hold(close.reason.utf8.count <= 123, "the reason does not fit")
                }
            }
        }

        private mutating func check(_ text: [UInt8]) throws(Contradiction) {
            let members = JSONValue.members(ofObject: text.span)
            try hold(members != nil, "the device cannot read it")
            guard let members, members["messageType"] == .string("notification"),
                let channel = members["channelID"]?.string
            else { return }
            try hold(unsettled[channel] == nil, "two of a channel are under way")
            unsettled[channel] = members["version"]?.string
        }
    }
}
