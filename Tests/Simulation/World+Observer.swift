import Courier
import Notifications
import Testing

@testable import Relay

/// What the observer is told, and holds against it.
extension World {
    static func payload(_ push: Push) -> [UInt8] {
        let padding = String(repeating: "x", count: push.number % 7 * 100)
        return Array(#"{"aps":{"alert":"\#(push.number)"},"pad":"\#(padding)"}"#.utf8)
    }

    func noteWelcome() { welcomes += 1 }

    func answered(_ number: Int, _ status: Int, _ body: String) {
        let push = pushes[number]
        #expect(push.status == nil && push.fault != .reset, "push \(number) is answered once")
        pushes[number].status = status
        pushes[number].answeredAt = events
        let expected: [Int] =
            switch push.fault {
            case .none: [200, 410, 429, 503]
            case .method: [405, 503]
            case .forgedToken, .environment, .topic, .payload: [400, 503]
            case .hugeBody: [413, 503]
            case .reset: []
            }
        #expect(expected.contains(status), "push \(number), \(push.fault): \(status) \(body)")
        if status == 200 {
            #expect(
                isSafe(push) || isReplaced(push), "push \(number) is neither on the disk nor with its device")
        }
    }

    func unanswered(_ number: Int, isOwed: Bool) {
        #expect(
            !isOwed || !isDraining || pushes[number].fault == .reset, "push \(number) was open in the drain")
    }

    func delivered(_ deliver: Deliver, to device: SimulatedDevice, isFirstOnLink: Bool, isNewestLink: Bool) {
        deliveries += 1
        let number = Int(deliver.identity.low)
        guard pushes.indices.contains(number) else {
            Issue.record("delivery of a push that nobody made")
            return
        }
        let push = pushes[number]
        #expect(push.device == device.index && push.topic == deliver.topic && push.fault == .none)
        #expect(deliver.payload == Self.payload(push) && deliver.collapseIdentifier == push.collapse)
        #expect(isFirstOnLink || push.collapse != nil, "push \(number) is delivered twice on one link")
        guard device.known.insert(number).inserted else { return }
        device.inbox.append(number)
        // An older link may still have something on its way when the newer one is welcomed.
        guard isNewestLink else { return }
        let youngest = youngest[device.index] ?? 0
        if let answeredAt = push.answeredAt, push.collapse == nil {
            #expect(
                answeredAt >= youngest || storage == .latest,
                "push \(number) comes after one that was sent when it was accepted")
        }
        self.youngest[device.index] = max(youngest, push.sentAt)
    }

    /// Whether the app has changed over to the other environment since.
    private func hasDeadToken(_ push: Push) -> Bool {
        devices[push.device].registrations[push.topic]?.deviceToken.hex != push.token
    }

    /// On the disk at some time, or with the device, or not to be kept.
    private func isSafe(_ push: Push) -> Bool {
        memory.committed.contains(push.identity) || isDone(push)
    }

    private func isDone(_ push: Push) -> Bool {
        devices[push.device].known.contains(push.number) || push.isNowOrNever
            || push.expiresAt.map { $0.milliseconds / 1000 * 1000 <= now.milliseconds } ?? false
    }

    /// Whether another push took its slot that may have come to the home after it. One that was refused with 503 may
    /// have done so all the same, if the relay was killed before the disk forgot it; then it is with the device.
    private func isReplaced(_ push: Push) -> Bool {
        let canBeReplaced = storage == .latest ? !push.isNowOrNever : push.collapse != nil
        guard canBeReplaced else { return false }
        return pushes.contains {
            $0.number != push.number && $0.device == push.device && $0.topic == push.topic
                && (storage == .latest ? !$0.isNowOrNever : $0.collapse == push.collapse) && $0.fault == .none
                && ($0.status == 200 || $0.status == nil || devices[$0.device].known.contains($0.number))
                && ($0.answeredAt.map { $0 >= push.sentAt } ?? true)
        }
    }

    func check() {
        for push in pushes where push.status == 200 {
            #expect(
                isDone(push) || isReplaced(push) || hasDeadToken(push),
                "push \(push.number) was answered 200 and is lost")
        }
        for push in pushes where push.status == 410 {
            #expect(hasDeadToken(push), "push \(push.number) was answered 410, and its token is good")
        }
        var left = 0
        _ = try? WatchedStore(disk, memory).scanQueue { _ in left += 1 }
        #expect(left == 0, "nothing is left on the disk")
        #expect(relay.shards.map(\.providers.count).reduce(0, +) == providers.count)
        #expect(relay.shards.map(\.devices.count).reduce(0, +) == sessions.count)
    }
}
