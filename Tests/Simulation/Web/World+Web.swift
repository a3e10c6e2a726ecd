import PostriderEndpoints
import PostriderNotifications

@testable import PostriderDeviceQueue
@testable import PostriderRelay

/// What browsers and senders of Web Push may do.
extension World {
    private static let messageFaults: [SimulatedMessage.Fault] = [
        .noTTL, .forgedAddress, .hugeBody, .encoding,
    ]

    func stepWeb() {
        switch chance.number(0...99) {
        case 0..<8:
            if let browser = chance.pick(web.browsers), browser.session == nil || chance.once(in: 12) {
                connect(browser)
            }
        case 8..<14: if web.senders.count < 3 { connectSender() }
        case 14..<22: withBrowser { $0.register(chance.pick($0.browser.channels) ?? "") }
        case 22..<25: withBrowser { $0.unregister(chance.pick($0.browser.channels) ?? "") }
        case 25..<62: post()
        case 62..<82: withBrowser { $0.acknowledge(chance.number(1...4)) }
        case 82..<94: readReceipts()
        case 94..<96: withBrowser { $0.ping() }
        case 96..<98: withBrowser { $0.leave() }
        case 98: withBrowser { ($0.wire as? SimulatedWire)?.goDead(at: clock.milliseconds) }
        default: if chance.once(in: 3) { removeBrowser() }
        }
    }

    private func withBrowser(_ event: (SimulatedBrowserSession) -> Void) {
        guard let session = chance.pick(web.sessions) else { return }
        findings.count()
        event(session)
    }

    // MARK: Connections

    func connect(_ browser: SimulatedBrowser) {
        guard browser.returnsAt <= clock.milliseconds else { return }
        let session = SimulatedBrowserSession(self, browser)
        if connect(session, { WebConnection(on: $0.web) }) { browser.session = session }
    }

    func connectSender() {
        let sender = SimulatedSender(self)
        if connect(sender.endpoint, { WebHTTP2Session(on: $0.web).endpoint }) { web.senders.append(sender) }
    }

    /// Lets the relay look, once a second, at connections to its web port that keep it waiting, as its loops do.
    func lookAtWaiting() {
        while web.lookedAt + 1_000 <= clock.milliseconds {
            web.lookedAt += 1_000
            for wire in relay.wires {
                guard let shard = wire.shard, let connection = wire.session as? WebConnection,
                    connection.isKeptWaiting
                else {
                    continue
                }
                relay.turn(shard) { connection.look() }
            }
        }
    }

    /// Removes a browser as the operator.
    private func removeBrowser() {
        guard let browser = chance.pick(web.browsers), let text = browser.identity,
            let identity = WebIdentity(text)?.device, let shard = chance.pick(relay.shards)
        else { return }
        findings.count()
        browser.removals.insert(text)
        remove(identity, on: shard)
    }

    // MARK: Messages

    /// Sends a message to one of the addresses of a browser, sometimes to an ended one.
    private func post() {
        guard let sender = chance.pick(web.senders), let browser = chance.pick(web.browsers) else { return }
        let some =
            chance.once(in: 12) ? browser.addresses.keys.sorted() : browser.subscriptions.values.sorted()
        guard let address = chance.pick(some), let known = browser.addresses[address] else { return }
        let usual = 86_400
        let seconds =
            chance.once(in: 8) ? 0 : chance.once(in: 4) ? chance.number(1...20) : usual
        let message = SimulatedMessage(
            number: web.messages.count, browser: browser.index, identity: known.identity, address: address,
            fault: chance.once(in: 12) ? chance.pick(Self.messageFaults) ?? .none : .none,
            secondsToLive: seconds, topic: chance.once(in: 3) ? "t\(chance.number(0...1))" : nil,
            wantsReceipt: chance.once(in: 2), sentAt: events, sentStamp: clock.stamp)
        let subscription = chance.once(in: 3) ? nil : chance.pick(web.subscriptions)
        guard sender.send(message, subscription) else { return }
        findings.count()
        web.append(message)
    }

    private func readReceipts() {
        guard let sender = chance.pick(web.senders), let url = chance.pick(web.subscriptions) else { return }
        if sender.read(url, waitingSeconds: chance.number(0...10)) { findings.count() }
    }

    // MARK: The end of a run

    /// Fetches all receipts, after the relay has had time to write what the disk had refused.
    func collectReceipts() {
        advance(byMilliseconds: 11_000)
        rest()
        // An answer has at most a hundred receipts.
        for _ in 0..<10 {
            let before = web.receipts.count
            for url in web.subscriptions {
                if web.senders.isEmpty { connectSender() }
                rest()
                _ = web.senders.first?.read(url, waitingSeconds: 0)
                rest()
            }
            guard web.receipts.count > before else { return }
        }
    }

    /// Checks that every message and every receipt is accounted for.
    func checkMessages() {
        for message in web.messages where message.isAccepted {
            findings.expect(
                isOver(message), .messages, "message \(message.number) was accepted and is lost")
            guard message.status == 202, let location = message.location else { continue }
            findings.expect(
                web.receiptOf[location] != nil, .receipts,
                "message \(message.number) was answered 202, and its receipt is lost")
        }
        for browser in web.browsers { checkSubscriptions(of: browser) }
    }

    private func checkSubscriptions(of browser: SimulatedBrowser) {
        guard let text = browser.identity, !browser.removals.contains(text),
            let identity = WebIdentity(text)?.device,
            let shard = relay.shards.first(where: { $0.home.entries[identity] != nil }),
            let device = shard.home.entries[identity]?.device
        else { return }
        let known = device.registrations.filter { $0.value.unregisteredAt == nil }.map {
            shard.web.routes.endpoint(of: identity, $0.key)
        }
        findings.expect(
            Set(known) == Set(browser.subscriptions.values), .answers,
            "browser \(browser.index) believes \(browser.subscriptions), and has \(known)")
    }
}
