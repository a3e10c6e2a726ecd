import PostriderCaptures
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderRules
import PostriderTransport

/// The path of a request on a relay with a test bench.
extension ProviderSession {
    /// What happens to a push that no rule decides about.
    enum Fate {
        /// It goes to the home of its device.
        case post(Notification)
        /// It is refused.
        case reject(Rejection)
        /// It is answered with 200, although the relay never gave out its token.
        case capture
        /// It is passed on to another server.
        case forward
    }

    /// Captures a complete request. Rules decide about a push only if the relay would accept it, or would refuse it for
    /// its token alone: any other fault of a request is answered first.
    func take(_ request: PushRequest, _ stream: Int32, observedBy observer: RequestObserver) {
        noteAbandoned(observer)
        observer.began(request, stream, in: environment, from: endpoint.peer, at: context.now)
        if observer.bench.upstream != nil { return takeForUpstream(request, stream, observer) }
        guard !isAboutChannels(request) else { return takeOrder(request, stream) }
        guard !isLookup(request) else { return takeLookup(request, stream) }
        let body = request.body
        request.phase = .observed
        do throws(Rejection) {
            guard !isDraining else { throw .shutdown }
            let notification = try admit(request)
            decide(request, stream, observer, body, topic: notification.topic.text, .post(notification))
        } catch {
            let isStrange = error == .badDeviceToken && request.hasStrangeToken(to: context.codec)
            guard isStrange else { return settle(stream, observer, .pass, .reject(error)) }
            let topic = request.text(.topic) ?? ""
            decide(
                request, stream, observer, body, topic: topic,
                observer.bench.acceptsAnyToken ? .capture : .reject(error))
        }
    }

    /// Tells the provider the result from the home of its device.
    func answer(_ stream: Int32, _ verdict: PushResult, observedBy observer: RequestObserver) {
        guard let request = exchanges[stream], case .observed = request.phase else { return }
        let goaway = observer.goaways.removeValue(forKey: stream)
        switch verdict {
        case .accepted: conclude(stream, observer, verdict, .accepted, request)
        case .rejected(let rejection, _):
            noteRefused(rejection, request, topic: request.text(.topic).flatMap(Topic.init))
            conclude(stream, observer, verdict, .refused, request)
        }
        if let goaway { say(goaway, for: stream) }
    }

    /// Notes how a request about channels or a broadcast was answered.
    func noteAnswered(_ stream: Int32, status: Int, reason: Rejection?) {
        guard let observer else { return }
        let answer = Capture.Answer(at: context.now, status: status, reason: reason?.rawValue)
        observer.ended(stream, reason == nil ? .accepted : .refused, answer: answer)
        announce(observer)
    }

    /// Notes requests whose streams the provider has closed.
    func noteAbandoned(_ observer: RequestObserver) {
        if observer.abandon(allBut: { exchanges[$0] != nil }) { announce(observer) }
    }

    // MARK: Rules

    func decide(
        _ request: PushRequest, _ stream: Int32, _ observer: RequestObserver, _ body: [UInt8], topic: String,
        _ fate: Fate
    ) {
        let facts = PushFacts(
            token: request.deviceToken ?? "", topic: topic,
            pushType: request.text(.pushType).flatMap(PushType.init(rawValue:)),
            headers: request.headers.map { ($0.name, $0.value) }, payload: body,
            identity: String(decoding: request.echo, as: UTF8.self), connection: observer.connection)
        guard let decision = observer.bench.decide(facts, at: context.now) else {
            return settle(stream, observer, .pass, fate)
        }
        observer.decided(decision, on: stream)
        begin(decision, observer, fate)
        var delay = decision.delayMilliseconds
        if let goaway = decision.goaway {
            switch goaway.time {
            case .before:
                say(goaway, for: stream)
                // The GOAWAY says that the push was not processed, so it must not be.
                guard goaway.namedStream(for: stream) >= stream else {
                    return finish(stream, observer, .reset)
                }
                // The answer is sent in a later write, so that the provider reads the GOAWAY first.
                delay = max(delay, 1)
            case .after: observer.goaways[stream] = goaway
            }
        }
        guard delay > 0 else { return settle(stream, observer, decision.outcome, fate) }
        observer.later(delay, stream, on: context.scheduler) { [unowned self] in
            settle(stream, observer, decision.outcome, fate)
        }
    }

    /// Does to the connection and the device what a rule says.
    private func begin(_ decision: RuleDecision, _ observer: RequestObserver, _ fate: Fate) {
        let effect = decision.connection
        observer.effects.begin(effect, on: endpoint, context.scheduler)
        if effect.expiredCertificates > 0 {
            observer.bench.showExpiredCertificate(forNext: effect.expiredCertificates)
        }
        if let device = decision.device, case .post(let notification) = fate {
            observer.bench.plan(device, for: notification, at: context.now)
        }
    }

    /// Carries out the decision of a rule, or the relay's own if no rule decided.
    func settle(
        _ stream: Int32, _ observer: RequestObserver, _ outcome: RuleEffect.Outcome, _ fate: Fate
    ) {
        guard let request = exchanges[stream] else { return noteAbandoned(observer) }
        switch outcome {
        case .pass:
            if case .forward = fate { return forward(request, stream, observer) }
            if case .post(let notification) = fate {
                observer.posting(stream)
                if let rejection = post(notification, stream) {
                    answer(stream, .rejected(rejection), observedBy: observer)
                }
                // The home answers, and the GOAWAY follows its answer.
                return
            }
            if case .reject(let rejection) = fate {
                answer(stream, .rejected(rejection), observedBy: observer)
            } else {
                conclude(stream, observer, .accepted, .captured, request)
            }
        case .lose: conclude(stream, observer, .accepted, .lost, request)
        case .answer(let answer): say(answer, on: stream, observer, request)
        case .unregister: preconditionFailure("rules say with which answer a token is unregistered")
        case .reset(let code):
            endpoint.streams.reset(stream, errorCode: code)
            finish(stream, observer, .reset)
        case .close(let notifies):
            finish(stream, observer, .closed)
            if notifies { endpoint.wire?.close(.localClose) } else { endpoint.wire?.abort(.localClose) }
            return
        }
        if let goaway = observer.goaways.removeValue(forKey: stream) { say(goaway, for: stream) }
    }

    /// Answers as the relay always does, and captures the answer.
    private func conclude(
        _ stream: Int32, _ observer: RequestObserver, _ verdict: PushResult, _ outcome: Capture.Outcome,
        _ request: PushRequest
    ) {
        var answer = Capture.Answer(at: context.now, status: 200)
        if case .rejected(let rejection, let since) = verdict {
            answer.status = rejection.status
            answer.reason = rejection.rawValue
            answer.timestamp = since?.milliseconds
            answer.retryAfter = request.retryAfterSeconds
        }
        respond(stream, verdict, request)
        observer.ended(stream, outcome, answer: answer)
        announce(observer)
    }

    private func finish(_ stream: Int32, _ observer: RequestObserver, _ outcome: Capture.Outcome) {
        forget(stream)
        observer.ended(stream, outcome)
        announce(observer)
    }

    // MARK: Actions of rules

    private func say(
        _ scripted: ScriptedAnswer, on stream: Int32, _ observer: RequestObserver, _ request: PushRequest
    ) {
        var head: HeaderBlock = [":status": String(scripted.status), "content-type": "application/json"]
        request.addEcho(to: &head, isFirst: false)
        var retryAfter: Int?
        if case .seconds(let seconds) = scripted.retryAfter {
            retryAfter = seconds
            head.add("retry-after", String(seconds))
        }
        let timestamp = scripted.timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        let body = Array("{\"reason\":\"\(scripted.reason)\"\(timestamp)}".utf8)
        if let stall = scripted.stall {
            endpoint.streams.openResponse(stream, head)
            endpoint.streams.send(stream, body.span.extracting(..<(body.count / 2)))
            if case .milliseconds(let time) = stall { finishLater(body, stream, time, observer) }
        } else {
            endpoint.streams.respond(stream, head, body: body)
        }
        context.measures.count(scripted: scripted.reason)
        forget(stream)
        let answer = Capture.Answer(
            at: context.now, status: scripted.status, reason: scripted.reason, timestamp: scripted.timestamp,
            retryAfter: retryAfter)
        observer.ended(stream, .scripted, answer: answer)
        announce(observer)
    }

    /// Sends the second half of a body later.
    private func finishLater(
        _ body: [UInt8], _ stream: Int32, _ milliseconds: Int, _ observer: RequestObserver
    ) {
        observer.stall(milliseconds, stream, on: context.scheduler) { [unowned self] in
            endpoint.streams.send(stream, body.span.extracting((body.count / 2)...))
            endpoint.streams.finish(stream)
        }
    }

    func say(_ goaway: Goaway, for stream: Int32) {
        let debug = goaway.reason.map { Array("{\"reason\":\"\($0)\"}".utf8) } ?? []
        endpoint.streams.goaway(
            errorCode: goaway.code, debug: debug, lastStream: goaway.namedStream(for: stream))
    }

    // MARK: Parts

    /// Wakes the callers that wait for captures.
    func announce(_ observer: RequestObserver) {
        guard observer.bench.isAwaited else { return }
        observer.bench.captureEnded()
        context.outbox.send(.control(.capturesChanged), to: 0)
    }
}
