import PostriderCourier
import PostriderNotifications

/// Some devices have wishes, and change them: apps that are ignored or can wait, and power that is to be saved.
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

    /// Everybody wants everything again.
    func unwish() {
        for session in sessions where session.isWelcome && session.device.reception != .usual {
            session.wish(.usual)
        }
    }
}
