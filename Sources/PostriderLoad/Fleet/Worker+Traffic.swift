import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The pushes that a worker is making.
struct LaneTraffic {
    /// What makes the next one leave.
    enum Pace {
        case inFlight(Int)
        case schedule(PushSchedule)
    }

    var pace: Pace
    /// How many are still to be made; nil: no end.
    var remaining: Int?
    let isStored: Bool
    let isAwaited: Bool
    let payload: [UInt8]

    private static let slackNanoseconds: UInt64 = 10_000_000

    /// Pushes that have been due for some milliseconds, and have not left.
    func backlog(at now: UInt64) -> UInt64 {
        guard case .schedule(let schedule) = pace else { return 0 }
        let due = schedule.due(by: now - min(now, Self.slackNanoseconds))
        return min(due > schedule.taken ? due - schedule.taken : 0, remaining.map { UInt64($0) } ?? .max)
    }
}

/// The broadcasts that a worker is making.
struct LaneBroadcasting {
    let channel: ChannelIdentity
    var schedule: PushSchedule
    var remaining: Int
    let payload: [UInt8]
}

extension Worker {
    // MARK: Providers

    func connectProviders() {
        for _ in 0..<setup.providers { connectProvider() }
    }

    private func connectProvider() {
        let line = ProviderLine(of: self, streams: setup.fleet.streams)
        providers.append(line)
        _ = loop.dial(
            setup.target.provider, tls: (setup.target.providerTLS, setup.target.providerName), session: line)
    }

    func providerOpened() { needsPump = true }

    func providerEnded(_ line: ProviderLine, _ reason: CloseReason) {
        providers.removeAll { $0 === line }
        guard !isFailed else { return }
        let words = "provider: \(reason)"
        let before = tally.failures[words, default: 0] + tally.lostLinks[words, default: 0]
        if tally.accepted == 0, tally.refused.isEmpty, tally.sent == 0, before >= 3 {
            return fail("No connection to the provider port \(setup.target.provider): \(reason).")
        }
        if !line.hasOpened {
            tally.failures.countReason(words)
        } else if reason != .localClose {
            tally.lostLinks.countReason(words)
        }
        let timer =
            providerPause
            ?? loop.makeTimer { [unowned self] in
                while providers.count < setup.providers { connectProvider() }
            }
        providerPause = timer
        if !timer.isArmed { timer.arm(afterMilliseconds: 200) }
    }

    // MARK: Traffic

    func start(_ order: LoadPlan.Traffic) {
        readClock()
        let pace: LaneTraffic.Pace =
            switch order.pace {
            case .inFlight(let count): .inFlight(count)
            case .perSecond(let rate): .schedule(PushSchedule(start: clock, perSecond: rate))
            }
        payload = Self.payload(bytes: order.payloadBytes)
        traffic = LaneTraffic(
            pace: pace, remaining: order.count, isStored: order.isStored,
            isAwaited: order.isAwaited, payload: payload)
        if order.count == 0 { traffic = nil }
        needsPump = true
    }

    func stopTraffic() {
        readClock()
        leftBehind += traffic?.backlog(at: clock) ?? 0
        traffic = nil
        pacer?.arm(at: nil)
    }

    /// A JSON object of exactly so many bytes.
    static func payload(bytes: Int) -> [UInt8] {
        let (head, tail) = (Array(#"{"aps":{"alert":""#.utf8), Array(#""}}"#.utf8))
        let letters = (0..<max(0, bytes - head.count - tail.count)).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        return head + letters + tail
    }

    /// Makes the pushes that may leave now.
    func pump() {
        needsPump = false
        readClock()
        if broadcasting != nil { pumpBroadcasts() }
        while traffic != nil, !known.isEmpty, let line = providerWithRoom() {
            guard let moment = takeMoment() else { break }
            push(at: moment, over: line)
        }
        armPacer()
        // Whoever waits for this is not to wait for the next tick: what is measured would last as long.
        let isBusy = traffic != nil || book.open > 0
        if wasBusy, !isBusy { report() }
        wasBusy = isBusy
    }

    /// The moment of the next push if it may leave now.
    private func takeMoment() -> UInt64? {
        switch traffic?.pace {
        case .inFlight(let most): return book.underWay < most ? clock : nil
        case .schedule(var schedule):
            guard let moment = schedule.take(at: clock) else { return nil }
            traffic?.pace = .schedule(schedule)
            return moment
        case nil: return nil
        }
    }

    private func push(at moment: UInt64, over line: ProviderLine) {
        guard let traffic else { return }
        let choice = Int(random().multipliedFullWidth(by: UInt64(known.count * addressees.apps)).high)
        let (device, app) = (known[choice / addressees.apps], choice % addressees.apps)
        let isWatched = traffic.isAwaited && !devices.isEmpty
        let number = book.send(
            to: device, at: moment - setup.epoch,
            .init(
                isPresent: isWatched && devices[device].isReady, isStored: traffic.isStored,
                isWatched: isWatched))
        let mark = PushMark(moment: moment - setup.epoch, run: setup.mark, device: device, number: number)
        let digits = addressees.digits
        let head = heads.push(
            mark, app: app, isStored: traffic.isStored,
            token: digits.span.extracting(addressees.range(device: device, app: app)))
        tally.sent += 1
        if !line.send(head, traffic.payload, .push(number)) { unanswered(.push(number)) }
        if let remaining = traffic.remaining {
            self.traffic?.remaining = remaining - 1
            if remaining == 1 { self.traffic = nil }
        }
    }

    private func providerWithRoom() -> ProviderLine? {
        for _ in providers.indices {
            nextProvider = nextProvider + 1 < providers.count ? nextProvider + 1 : 0
            if providers[nextProvider].hasRoom { return providers[nextProvider] }
        }
        return nil
    }

    /// Rings when the next push is due. One that is due already waits for room, and an answer makes that.
    private func armPacer() {
        var next = UInt64.max
        if case .schedule(let schedule) = traffic?.pace { next = min(next, schedule.next) }
        if let broadcasting { next = min(next, broadcasting.schedule.next) }
        if next > clock, next < .max { pacer?.arm(at: next) }
    }

    // MARK: Answers

    func accepted(_ exchange: ProviderLine.Exchange) {
        needsPump = true
        switch exchange {
        case .push(let number):
            tally.accepted += 1
            if let moment = book.moment(of: number) { measureAcceptance(since: moment) }
            book.accepted(number)
        case .broadcast(let moment):
            tally.broadcasts += 1
            broadcastsLeft -= 1
            measureAcceptance(since: moment)
        }
    }

    func refused(_ exchange: ProviderLine.Exchange, _ reason: String) {
        needsPump = true
        tally.refused.countReason(reason)
        switch exchange {
        case .push(let number): book.refused(number)
        case .broadcast: broadcastsLeft -= 1
        }
    }

    func unanswered(_ exchange: ProviderLine.Exchange) {
        needsPump = true
        tally.unanswered += 1
        switch exchange {
        case .push(let number): book.unanswered(number)
        case .broadcast: broadcastsLeft -= 1
        }
    }

    // MARK: Broadcasts

    func startBroadcasting(_ channel: ChannelIdentity, _ count: Int, _ perSecond: Double, _ payload: [UInt8])
    {
        readClock()
        self.payload = payload
        guard count > 0 else { return }
        broadcastsLeft = count
        broadcasting = LaneBroadcasting(
            channel: channel, schedule: PushSchedule(start: clock, perSecond: perSecond), remaining: count,
            payload: payload)
        needsPump = true
    }

    /// All over one connection: only then they come in the order in which they are sent, and what comes out of its
    /// order is known to come twice.
    private func pumpBroadcasts() {
        while var sending = broadcasting, let line = providers.first, line.hasRoom,
            let moment = sending.schedule.take(at: clock)
        {
            let mark = PushMark(
                moment: moment - setup.epoch, run: setup.mark, device: PushMark.everybody, number: tally.sent)
            tally.sent += 1
            sending.remaining -= 1
            broadcasting = sending.remaining > 0 ? sending : nil
            let head = heads.broadcast(mark, channel: sending.channel)
            let exchange = ProviderLine.Exchange.broadcast(moment - setup.epoch)
            if !line.send(head, sending.payload, exchange) { unanswered(exchange) }
        }
    }
}
