import PostriderClients
import PostriderNotifications
import PostriderSystem
import PostriderTransport

extension LoadRun {
    /// The last reports of all workers, added up.
    struct PhaseTotals {
        /// Whether every worker has reported since its last order.
        var isComplete = true
        var ready = 0
        var subscribed = 0
        var open = 0
        var missing = 0
        var isPushing = false
        var hasCountLeft = false
        var broadcastsLeft = 0
        /// Whether every worker has a connected provider.
        var haveProviders = true
        var backlog: UInt64 = 0
        var tally = LoadTally()
    }

    /// Carries out one step, and returns when it is done.
    func carryOut(_ action: LoadPlan.Action) async throws {
        switch action {
        case .connect(let percent): try await connect(percent)
        case .disconnect(let percent, let isOrderly): try await disconnect(percent, isOrderly)
        case .storm(let percent): try await storm(percent)
        case .start(let traffic): start(traffic)
        case .stop: try await stop()
        case .push(let traffic, let milliseconds):
            start(traffic)
            if let milliseconds {
                let isDone = try await wait(milliseconds: milliseconds) { !$0.isPushing }
                if !isDone { order { _ in .stop } }
            } else {
                try await waitForCount(traffic)
            }
            try await waitForAnswers()
        case .broadcast(let count, let perSecond, let payloadBytes):
            try await broadcast(count, perSecond, payloadBytes)
        case .hold(let milliseconds): _ = try await wait(milliseconds: milliseconds) { _ in false }
        case .drain(let milliseconds):
            _ = try await wait(milliseconds: milliseconds) {
                $0.missing == 0 && $0.open == 0 && !$0.hasCountLeft
            }
        }
    }

    private func share(_ percent: Int, of worker: Int) -> Int {
        (counts[worker].devices * percent + 99) / 100
    }

    private func connect(_ percent: Int) async throws {
        for worker in counts.indices { wanted[worker] = max(wanted[worker], share(percent, of: worker)) }
        order { .connect(self.wanted[$0]) }
        try await waitForDevices()
    }

    private func waitForDevices() async throws {
        let all = wanted.reduce(0, +)
        try await wait(
            milliseconds: patienceMilliseconds,
            orFail: "\(together.ready) of \(all) devices are connected and registered"
        ) { $0.ready == all }
    }

    private func disconnect(_ percent: Int, _ isOrderly: Bool) async throws {
        order { worker in
            let leaving = min(self.share(percent, of: worker), self.wanted[worker])
            self.wanted[worker] -= leaving
            return .disconnect(leaving, isOrderly: isOrderly)
        }
        try await waitForDevices()
    }

    private func storm(_ percent: Int) async throws {
        order { worker in .storm(min(self.share(percent, of: worker), self.wanted[worker])) }
        try await waitForDevices()
    }

    private func start(_ traffic: LoadPlan.Traffic) {
        let threads = counts.count
        order { worker in
            var part = traffic
            part.count = traffic.count.map { Self.part(of: $0, for: worker, of: threads) }
            switch traffic.pace {
            case .inFlight(let count):
                part.pace = .inFlight(max(1, Self.part(of: count, for: worker, of: threads)))
            case .perSecond(let rate): part.pace = .perSecond(rate / Double(threads))
            }
            return .start(part)
        }
    }

    /// Waits until the traffic's count of pushes was sent, as long as the count of events still grows.
    private func waitForCount(_ traffic: LoadPlan.Traffic) async throws {
        var milliseconds = answerMilliseconds
        if case .perSecond(let rate) = traffic.pace { milliseconds += Int(2000 / rate) }
        func events(_ now: PhaseTotals) -> UInt64 {
            let tally = now.tally
            return tally.sent + tally.accepted + tally.refusedCount + tally.unanswered + tally.delivered
        }
        func sentence() -> String {
            let missing = together.missing
            return "no push was sent, answered or delivered for \(milliseconds / 1000) s"
                + (missing > 0 ? ", and \(missing) that were accepted have not arrived" : "")
        }
        guard try await wait(milliseconds: milliseconds, counting: events, until: { !$0.isPushing }) else {
            throw earlyEnd(sentence())
        }
    }

    /// Waits until `isDone` is true. Gives up, and returns false, when the number of events has not grown for
    /// `milliseconds`.
    private func wait(
        milliseconds: Int, counting events: (PhaseTotals) -> UInt64, until isDone: (PhaseTotals) -> Bool
    ) async throws -> Bool {
        repeat {
            let before = events(together)
            guard
                try await wait(milliseconds: milliseconds, until: { isDone($0) || events($0) > before })
            else { return false }
        } while !isDone(together)
        return true
    }

    /// Waits until every worker has a connected provider.
    func waitForProviders() async throws {
        try await wait(
            milliseconds: answerMilliseconds,
            orFail: "no connection to the provider port \(target.provider) was made in time"
        ) { $0.haveProviders }
    }

    private func stop() async throws {
        order { _ in .stop }
        try await waitForAnswers()
    }

    private func waitForAnswers() async throws {
        try await wait(
            milliseconds: answerMilliseconds, orFail: "\(together.open) pushes were not answered in time"
        ) { $0.open == 0 }
    }

    private func broadcast(_ count: Int, _ perSecond: Double, _ payloadBytes: Int) async throws {
        let channel = try await makeChannel()
        order { _ in .subscribe(channel) }
        try await wait(
            milliseconds: patienceMilliseconds, orFail: "\(together.subscribed) devices could subscribe"
        ) { $0.subscribed == $0.ready }
        let subscribers = together.subscribed
        let before = together.tally
        let payload = PushOutcomes.makePayload(bytes: payloadBytes)
        // All workers have to know the payload; the first one sends the broadcasts.
        order { .broadcast(channel, count: $0 == 0 ? count : 0, perSecond: perSecond, payload: payload) }
        func expected(_ now: PhaseTotals) -> UInt64 {
            (now.tally.broadcasts - before.broadcasts) * UInt64(subscribers)
        }
        func arrived(_ now: PhaseTotals) -> UInt64 {
            now.tally.broadcastsDelivered - before.broadcastsDelivered
        }
        func isDone(_ now: PhaseTotals) -> Bool { now.broadcastsLeft == 0 && arrived(now) >= expected(now) }
        func events(_ now: PhaseTotals) -> UInt64 {
            UInt64(count - now.broadcastsLeft) + arrived(now)
        }
        // Waits for as long as broadcasts are answered or arrive: a server may be slower than the rate.
        let patience = answerMilliseconds + Int(2000 / perSecond)
        // A broadcast that was sent and does not arrive is lost. One that cannot be sent ends the run.
        if try await !wait(milliseconds: patience, counting: events, until: isDone) {
            meter.noteVain(milliseconds: patience)
        }
        guard together.broadcastsLeft == 0 else {
            throw LoadFailure(
                "The run ended early: \(together.broadcastsLeft) broadcasts got nowhere for "
                    + "\(patience / 1000) s.")
        }
        let now = together
        lostBroadcasts += Int(expected(now)) - min(Int(expected(now)), Int(arrived(now)))
    }

    /// Creates a channel for the first app, as a provider does.
    private func makeChannel() async throws -> ChannelIdentity {
        let target = self.target
        return try await Thread.start(name: "load-channel") { continuation in
            continuation.resume(with: Result { try Self.makeChannel(target) })
        }
    }

    private static func makeChannel(_ target: LoadTarget) throws -> ChannelIdentity {
        let loop = try EventLoop()
        let server = Server(target.provider, tls: target.providerTLS, name: target.providerName)
        let client = ProviderClient(to: server, tokens: target.signer, on: loop)
        var outcome: Result<ChannelOutcome, ClientError>?
        try client.ask(.create(.nothing), of: target.topics[0]) { [unowned loop] answer in
            outcome = answer
            loop.stop()
        }
        loop.run()
        return try withExtendedLifetime(client) {
            if case .success(let answer) = outcome, let channel = answer.channel { return channel }
            throw LoadFailure("The server makes no channel for \(target.topics[0]): \(Self.words(outcome)).")
        }
    }

    private static func words(_ outcome: Result<ChannelOutcome, ClientError>?) -> String {
        switch outcome {
        case .success(let answer): answer.reason ?? "status \(answer.status)"
        case .failure(let error): "\(error)"
        case nil: "no answer"
        }
    }
}
