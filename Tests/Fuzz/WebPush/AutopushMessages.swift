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
        private var unsettled: Set<String> = []
        private var isClosed = false

        mutating func step(_ letter: UInt8?) throws(Contradiction) {
            switch letter {
            case UInt8(ascii: "d"):
                let hadRoom = session.hasRoom
                delivered += 1
                let version = "v\(delivered)"
                let notification = AutopushNotification(
                    channel: "c", version: version, message: WebPushMessage(.aes128gcm, [1]))
                let effects = session.deliver(notification)
                try hold(effects.isEmpty != hadRoom, "room and delivery differ")
                if hadRoom { unsettled.insert(version) }
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
                    try hold(unsettled.remove(version) != nil, "\(version) is settled, which is not pending")
                case .send(let text): try hold(JSONSyntax.isObject(text.span), "the device cannot read it")
                case .close(let close):
                    isClosed = true
                    try hold(close.reason.utf8.count <= 123, "the reason does not fit")
                }
            }
        }
    }
}
