import PostriderCourier
import PostriderNotifications

/// The observer's checks of each event.
extension World {
    // MARK: Answers

    func answered(_ number: Int, _ status: Int, _ body: String) {
        let push = pushes[number]
        findings.expect(
            push.open > 0 && push.fault != .reset, .answers, "push \(number) is answered too often")
        pushes[number].open -= 1
        pushes[number].answeredAt = events
        if push.status != 200 { pushes[number].status = status }
        findings.expect(
            isExpected(status, for: push), .answers, "push \(number), \(push.fault): \(status) \(body)")
        if status == 410 { checkEnd(push, body) }
        if status == 503, push.fault == .none { resendable.append(number) }
        guard status == 200 else { return }
        if push.acceptedAt == nil { pushes[number].acceptedAt = events }
        findings.expect(
            disk.committed.contains(push.number) || isOver(push) || isReplaced(push), .loss,
            "push \(number) was answered 200, and is neither on the disk nor with its device")
    }

    private func isExpected(_ status: Int, for push: Push) -> Bool {
        switch push.fault {
        case .none:
            [200, 410, 429, 503].contains(status) || status == 400 && isRemoved(push)
        case .method: [405, 503].contains(status)
        case .forgedToken, .environment, .topic, .payload: [400, 503].contains(status)
        case .hugeBody: [413, 503].contains(status)
        case .reset: false
        }
    }

    /// Checks that the timestamp of a 410 is the end of the registration: after its end was requested, and always the
    /// same.
    private func checkEnd(_ push: Push, _ body: String) {
        let digits = body.split(separator: ":").last?.prefix { $0.isNumber }
        guard body.contains("Unregistered"), let moment = digits.flatMap({ Int($0) }) else {
            return findings.note(.answers, "push \(push.number) was answered 410 without a moment: \(body)")
        }
        let known = ends.updateValue(moment, forKey: push.token)
        findings.expect(
            known ?? moment == moment, .answers,
            "the token of push \(push.number) ended at \(moment), and before at \(known ?? 0)")
        let asked = devices[push.device].endingAskedAt[push.topic]
        let span = asked.map { clock.span(since: $0) }
        findings.expect(
            span?.contains(Int64(moment)) ?? false, .answers,
            "the token of push \(push.number) ended at \(moment), and nobody had asked for it")
    }

    func unanswered(_ number: Int, isOwed: Bool) {
        pushes[number].open -= 1
        pushes[number].isLost = true
        if pushes[number].fault == .none { resendable.append(number) }
        findings.expect(
            !isOwed || !isDraining || pushes[number].fault == .reset, .answers,
            "push \(number) was open in the drain, and is not answered")
    }

    // MARK: Deliveries

    func delivered(
        _ deliver: Deliver, to session: SimulatedDeviceSession, copies: Int, isNewestLink: Bool
    ) {
        deliveries += 1
        let number = pushNumber(in: deliver.payload) ?? -1
        let device = session.device
        guard pushes.indices.contains(number), pushes[number].identity == deliver.identity else {
            return findings.note(.conduct, "\(deliver.identity) is delivered, and nobody has sent it")
        }
        let push = pushes[number]
        findings.expect(
            push.device == device.index && push.topic == deliver.topic && push.fault == .none
                && deliver.payload == push.payload && deliver.collapseIdentifier == push.collapse,
            .conduct, "push \(number) is not what was sent, or not where")
        findings.expect(
            copies <= push.attempts || push.collapse != nil, .repetition,
            "push \(number), sent \(push.attempts) times, is delivered \(copies) times on one link")
        checkExpiration(deliver, push, on: session)
        // An older link may still have notifications under way when the newer one gets its welcome.
        guard device.seen.insert(number).inserted, isNewestLink else { return }
        checkOrder(push)
        checkNewest(push, on: session)
    }

    private func checkExpiration(_ deliver: Deliver, _ push: Push, on session: SimulatedDeviceSession) {
        switch deliver.expiration {
        case .nowOrNever:
            findings.expect(
                push.isNowOrNever || push.expiresAt.map { $0 <= deliver.acceptedAt } ?? false, .expiration,
                "push \(push.number) has become now or never")
        case .at(let moment):
            let month = Limits.storedDays * 24 * 60 * 60 * 1000
            let due = push.expiresAt ?? deliver.acceptedAt.advanced(byMilliseconds: month)
            findings.expect(
                moment == due, .expiration, "push \(push.number) expires at \(moment), not at \(due)")
            // The relay may have written it at any time since the device's hello.
            guard let hello = session.hello else { return }
            let earliest = clock.span(since: hello.stamp).lowerBound
            findings.expect(
                earliest < moment.milliseconds, .expiration,
                "push \(push.number) came \(earliest - moment.milliseconds) ms after its expiration")
        }
    }

    /// Checks the order: a push that was accepted before another was sent comes before it, and pushes of one
    /// connection come in their order. An expired push may come later if the clock was set back and the relay killed.
    private func checkOrder(_ push: Push) {
        guard !pushes.hasSlot(push), !disk.surfaced.contains(push.number), !hasExpired(push) else { return }
        let hasWishes = devices[push.device].hasWishes
        let like = hasWishes ? "\(push.topic) \(push.isNowOrNever)" : ""
        let lane = Lane(device: push.device, priority: push.priority, like: like)
        if let acceptedAt = push.acceptedAt, push.attempts == 1 {
            findings.expect(
                acceptedAt >= youngest[lane] ?? 0, .order,
                "push \(push.number) comes after one that was sent when it was accepted")
        }
        youngest[lane] = max(youngest[lane] ?? 0, push.sentAt)
        guard push.attempts == 1 else { return }
        let own = Lane(
            device: push.device, priority: push.priority, connection: push.connection, like: like)
        let before = last.updateValue(push.number, forKey: own) ?? -1
        findings.expect(
            before < push.number, .order, "push \(before) comes before \(push.number) of its connection")
    }

    /// Checks that no push comes that was replaced before the link began. Two exceptions: a killed relay may have
    /// lost the replacement, if the replacing push is over (delivered while connected, or expired); and a push that
    /// was in delivery when the other came is only replaced when it returns, if the other is there by then.
    private func checkNewest(_ push: Push, on session: SimulatedDeviceSession) {
        guard let acceptedAt = push.acceptedAt, push.attempts == 1, let hello = session.hello else { return }
        let seen = session.device.seen
        let isLate = pushes.hasSureRival(of: push) { other in
            guard other.isKept, other.attempts == 1, other.sentAt > acceptedAt,
                let taken = other.acceptedAt, taken < hello.event
            else { return false }
            guard crashes.contains(where: { $0 > other.sentAt }) || hasReturned(push) else { return true }
            return !pushes.hasRival(of: push) { last in
                (last.isLost || (last.answeredAt.map { $0 >= other.sentAt } ?? true))
                    && (!last.isKept || seen.contains(last.number))
            }
        }
        findings.expect(!isLate, .newest, "push \(push.number) comes, and was replaced before the link began")
    }

    /// Whether the push was in delivery before, and the trace has a record that it was not acknowledged.
    private func hasReturned(_ push: Push) -> Bool {
        var rows: Set<QueueRow> = []
        var hasReturned = false
        readTrace { record in
            switch record {
            case .acceptance(let accepted) where accepted.identity == push.identity: rows.insert(accepted.row)
            case .event(let event) where event.kind == .returned && rows.contains(event.row):
                hasReturned = true
            case .acceptance, .event, .report: break
            }
        }
        return hasReturned
    }

    // MARK: What has become of a push

    /// Whether its device was removed, or the operator tried to remove it.
    private func isRemoved(_ push: Push) -> Bool { devices[push.device].removals.contains(push.incarnation) }

    /// Whether its token is not the app's current one.
    func hasDeadToken(_ push: Push) -> Bool {
        devices[push.device].registrations[push.topic]?.deviceToken.hex != push.token
    }

    /// Whether the push is with its device, or need not be stored any more.
    func isOver(_ push: Push) -> Bool {
        devices[push.device].isKept(push.number) || push.isNowOrNever || isRemoved(push) || hasExpired(push)
    }

    /// Whether the push had expired by any time that the clock has shown.
    private func hasExpired(_ push: Push) -> Bool {
        push.expiresAt.map { $0.milliseconds <= clock.latest } ?? false
    }

    /// Whether another push of its slot may have come to the home after it. Even a push that was refused with 503 may
    /// have replaced it, if the relay was killed before the disk lost it.
    func isReplaced(_ push: Push) -> Bool {
        pushes.hasRival(of: push) { other in
            let isUnknown = other.open > 0 || other.isLost
            let isThere =
                other.status == 200 || isUnknown || other.status == nil
                || devices[other.device].isKept(other.number) || disk.surfaced.contains(other.number)
            return isThere && (isUnknown || (other.answeredAt.map { $0 >= push.sentAt } ?? true))
        }
    }
}
