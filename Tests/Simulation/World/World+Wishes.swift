import PostriderCourier
import PostriderNotifications

/// Changes of reception: some devices ignore apps, let apps wait, or save power.
extension World {
    func wish() {
        guard let session = chance.pick(sessions.filter(\.device.hasWishes)) else { return }
        var opportunistic: [String] = []
        var ignored: [String] = []
        for topic in Self.topics {
            switch chance.number(0...5) {
            case 0: ignored.append(topic)
            case 1, 2: opportunistic.append(topic)
            default: break
            }
        }
        findings.count()
        session.wish(
            Reception(savesPower: chance.once(in: 2), opportunistic: opportunistic, ignored: ignored))
    }

    /// Gives every device the usual reception again.
    func unwish() {
        for session in sessions where session.isWelcome && session.device.reception != .usual {
            session.wish(.usual)
        }
    }
}
