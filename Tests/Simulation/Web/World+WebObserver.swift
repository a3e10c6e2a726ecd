import PostriderNotifications

/// The observer's checks of Web Push.
extension World {
    // MARK: Answers

    func answered(message number: Int, _ status: Int, location: String?, receipts: String?) {
        web.messages[number].status = status
        web.messages[number].answeredAt = events
        let message = web.messages[number]
        findings.expect(
            isExpected(status, for: message), .answers, "message \(number), \(message.fault): \(status)")
        guard message.isAccepted else { return }
        web.messages[number].latestAcceptance = clock.span(since: message.sentStamp).upperBound
        findings.expect(
            location != nil && (status == 202) == (receipts != nil)
                && (status == 201 || message.wantsReceipt),
            .answers, "message \(number) is answered \(status) without what belongs to it")
        web.messages[number].location = location
        if let location { web.numberOf[location] = number }
        if let receipts, !web.subscriptions.contains(receipts) { web.subscriptions.append(receipts) }
        findings.expect(
            disk.committed.contains(SimulatedMessage.firstNumber + number) || isOver(web.messages[number]),
            .messages, "message \(number) was accepted, and is neither on the disk nor with its browser")
        let endedAt = address(of: message)?.endedAt
        findings.expect(
            endedAt.map { $0 >= message.sentAt } ?? true, .ended,
            "message \(number) was accepted, and its subscription had ended")
    }

    private func isExpected(_ status: Int, for message: SimulatedMessage) -> Bool {
        switch message.fault {
        case .none:
            [201, 202, 429, 503].contains(status)
                || status == 410 && address(of: message)?.isEndingAsked == true
                || status == 404 && isRemoved(message)
        case .noTTL, .encoding: status == 400 || isExpectedWithoutBrowser(status, message)
        case .forgedAddress: [404, 503].contains(status)
        case .hugeBody: status == 413 || isExpectedWithoutBrowser(status, message)
        }
    }

    /// Whether a refusal has another reason than the request's fault.
    private func isExpectedWithoutBrowser(_ status: Int, _ message: SimulatedMessage) -> Bool {
        [429, 503].contains(status) || status == 404 && isRemoved(message)
            || status == 410 && address(of: message)?.isEndingAsked == true
    }

    private func address(of message: SimulatedMessage) -> SimulatedBrowser.Address? {
        web.browsers[message.browser].addresses[message.address]
    }

    // MARK: Deliveries

    func delivered(
        _ number: Int, _ bytes: [UInt8], on channel: String, to session: SimulatedBrowserSession
    ) {
        web.deliveries += 1
        let browser = session.browser
        guard web.messages.indices.contains(number) else {
            return findings.note(.conduct, "message \(number) is delivered, and nobody has sent it")
        }
        let message = web.messages[number]
        findings.expect(
            message.browser == browser.index && message.fault == .none && message.payload == bytes
                && address(of: message)?.channel == channel,
            .conduct, "message \(number) is not what was sent, or not where")
        checkExpiration(message, on: channel, session)
        guard session.isNewest else { return }
        findings.expect(
            address(of: message)?.endedAt == nil && browser.identity == message.identity, .ended,
            "message \(number) comes after the end of its subscription")
        guard browser.seen.insert(number).inserted else { return }
        checkReplaced(message, session)
        checkOrder(message)
    }

    /// The relay may have written it at any time since the hello, or since the message before it was acknowledged.
    private func checkExpiration(
        _ message: SimulatedMessage, on channel: String, _ session: SimulatedBrowserSession
    ) {
        guard message.secondsToLive > 0, let hello = session.hello else { return }
        let accepted = message.latestAcceptance ?? clock.span(since: message.sentStamp).upperBound
        let due = accepted + Int64(message.secondsToLive) * 1_000
        let since = session.acknowledged[channel] ?? hello.stamp
        let earliest = clock.span(since: since).lowerBound
        findings.expect(
            earliest < due, .ended, "message \(message.number) came \(earliest - due) ms after its expiration"
        )
    }

    /// Checks that no message comes that was replaced before the WebSocket began, while the message that has replaced
    /// it waits. It does not wait any more if the browser has one that has replaced it in its turn: what that one has
    /// replaced may come back if it was acknowledged at once, and the relay was killed then.
    private func checkReplaced(_ message: SimulatedMessage, _ session: SimulatedBrowserSession) {
        guard message.isAccepted, let answeredAt = message.answeredAt, let hello = session.hello else {
            return
        }
        let seen = session.browser.seen
        let rival = rivals(of: message, atEvery: true).first { other in
            other.isAccepted && other.sentAt > answeredAt && !seen.contains(other.number)
                && other.answeredAt.map { $0 < hello.event } ?? false && !hasExpired(other)
                && other.secondsToLive > 0
                && !rivals(of: other, atEvery: false).contains {
                    seen.contains($0.number) && $0.answeredAt ?? .max >= other.sentAt
                }
        }
        findings.expect(
            rival == nil, .ended,
            "message \(message.number) comes, and \(rival?.number ?? 0) had replaced it before")
    }

    /// Checks that a message that was accepted before another was sent comes before it.
    private func checkOrder(_ message: SimulatedMessage) {
        guard message.topic == nil, !storages.contains(.latest), !hasExpired(message),
            !disk.surfaced.contains(SimulatedMessage.firstNumber + message.number)
        else { return }
        if let answeredAt = message.answeredAt {
            findings.expect(
                answeredAt >= web.youngest[message.address] ?? 0, .order,
                "message \(message.number) comes after one that was sent when it was accepted")
        }
        web.youngest[message.address] = max(web.youngest[message.address] ?? 0, message.sentAt)
    }

    // MARK: Receipts

    func noteReceipt(_ url: String, _ receipt: SimulatedReceipt, askedAt: Int) {
        if let known = web.receipts[url] {
            findings.expect(
                known.removedAt.map { $0 >= askedAt } ?? true, .receipts,
                "a receipt of \(receipt.message) comes again after it was removed")
            findings.expect(
                known.message == receipt.message && known.status == receipt.status, .receipts,
                "the receipt of \(receipt.message) has changed")
            return
        }
        web.receipts[url] = receipt
        findings.expect(
            web.receiptOf.updateValue(url, forKey: receipt.message) == nil, .receipts,
            "\(receipt.message) has two receipts")
        // The answer to its message may be lost, or still be under way on another connection.
        guard let number = web.numberOf[receipt.message] else { return }
        let message = web.messages[number]
        if receipt.status == 204 {
            findings.expect(
                web.browsers[message.browser].kept.contains(number), .receipts,
                "the receipt of message \(number) comes before its browser has acknowledged it")
        } else {
            findings.expect(
                receipt.status == 410 && (isOverUnread(message) || lives > 1), .receipts,
                "the receipt of message \(number) says that it is over")
        }
    }

    // MARK: What has become of a message

    private func isRemoved(_ message: SimulatedMessage) -> Bool {
        web.browsers[message.browser].removals.contains(message.identity)
    }

    /// Whether the message is with its browser, or need not be stored any more.
    func isOver(_ message: SimulatedMessage) -> Bool {
        web.browsers[message.browser].kept.contains(message.number) || isOverUnread(message)
    }

    private func isOverUnread(_ message: SimulatedMessage) -> Bool {
        message.secondsToLive == 0 || isRemoved(message) || hasExpired(message)
            || address(of: message)?.isEndingAsked == true || isReplaced(message)
    }

    /// Whether the message had expired by any time that the clock has shown.
    private func hasExpired(_ message: SimulatedMessage) -> Bool {
        let earliest = clock.span(since: message.sentStamp).lowerBound
        return earliest + Int64(message.secondsToLive) * 1_000 <= clock.latest
    }

    /// Whether another message of its slot may have come to the home after it.
    private func isReplaced(_ message: SimulatedMessage) -> Bool {
        rivals(of: message, atEvery: false).contains { other in
            let isThere =
                other.isAccepted || other.status == nil
                || web.browsers[other.browser].kept.contains(other.number)
                || disk.surfaced.contains(SimulatedMessage.firstNumber + other.number)
            return isThere && (other.isLost || other.answeredAt.map { $0 >= message.sentAt } ?? true)
        }
    }

    /// The messages that share a slot with another one, at every relay or at one of them.
    private func rivals(of message: SimulatedMessage, atEvery: Bool) -> [SimulatedMessage] {
        let all = (web.numbers[message.address] ?? []).lazy.map { self.web.messages[$0] }
        return all.filter { other in
            guard other.number != message.number, other.fault == .none else { return false }
            let shares = self.storages.map { storage in
                storage == .latest && other.secondsToLive > 0 && message.secondsToLive > 0
                    || (storage == .queue || other.secondsToLive == 0 && message.secondsToLive == 0)
                        && other.topic != nil && other.topic == message.topic
            }
            return atEvery ? !shares.contains(false) : shares.contains(true)
        }
    }
}
