import PostriderCaptures
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderRules
import PostriderTransport

/// What an ``ObservedConnection`` needs of the session that owns it.
protocol ObservedSession: AnyObject {
    var context: ShardContext { get }
    var environment: Environment { get }
    var endpoint: HTTP2Handler { get }
    /// Whether new pushes are refused because the relay ends.
    var isDraining: Bool { get }

    /// The request on a stream; nil if it is answered or closed.
    func request(on stream: Int32) -> PushRequest?
    /// The notification of a complete request.
    func admit(_ request: PushRequest) throws(Rejection) -> Notification
    /// Sends a push to its device's home. Returns the rejection if that is not possible.
    func post(_ notification: Notification, _ stream: Int32) -> Rejection?
    /// Answers a request as every relay does.
    func respond(_ stream: Int32, _ verdict: PushResult, _ request: PushRequest)
    /// Notes in the trace that a request was refused.
    func noteRefused(_ reason: Rejection, _ request: PushRequest)
    /// The stream is answered or closed.
    func forget(_ stream: Int32)
    /// Another server has authenticated the provider, which may have as many streams open as any other.
    func raiseStreamLimitOfAuthenticated()
}

/// One provider's connection on a relay with a test bench: its requests are captured, rules decide about them, and some
/// are passed on to another server.
final class ObservedConnection {
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

    unowned let session: any ObservedSession
    let captures: RequestObserver

    init(_ bench: TestBench, of session: any ObservedSession) {
        self.session = session
        captures = RequestObserver(bench)
    }

    var context: ShardContext { session.context }
    var endpoint: HTTP2Handler { session.endpoint }

    /// Whether requests are passed on to another server.
    var passesOn: Bool { captures.bench.upstream != nil }

    /// A request is complete: captures it.
    func began(_ request: PushRequest, _ stream: Int32) {
        noteAbandoned()
        captures.began(request, stream, in: session.environment, from: endpoint.peer, at: context.now)
    }

    /// Takes a complete push. Rules decide about it only if the relay would accept it, or would refuse it for its token
    /// alone: any other fault of a request is answered first.
    func take(_ request: PushRequest, _ stream: Int32) {
        let body = request.body
        request.phase = .observed
        do throws(Rejection) {
            guard !session.isDraining else { throw .shutdown }
            let notification = try session.admit(request)
            decide(request, stream, body, topic: notification.topic.text, .post(notification))
        } catch {
            let isStrange = error == .badDeviceToken && request.hasStrangeToken(to: context.codec)
            guard isStrange else { return settle(stream, .pass, .reject(error)) }
            let topic = request.text(.topic) ?? ""
            decide(
                request, stream, body, topic: topic,
                captures.bench.acceptsAnyToken ? .capture : .reject(error))
        }
    }

    /// Answers the provider's request with the result that the push had at its device's home.
    func answer(_ stream: Int32, _ verdict: PushResult) {
        guard let request = session.request(on: stream), case .observed = request.phase else { return }
        let goaway = captures.goaways.removeValue(forKey: stream)
        switch verdict {
        case .accepted: conclude(stream, verdict, .accepted, request)
        case .rejected(let rejection, _):
            session.noteRefused(rejection, request)
            conclude(stream, verdict, .refused, request)
        }
        if let goaway { say(goaway, for: stream) }
    }

    /// Notes how a request about channels or a broadcast was answered.
    func noteAnswered(_ stream: Int32, status: Int, reason: Rejection?) {
        let answer = Capture.Answer(at: context.now, status: status, reason: reason?.rawValue)
        captures.ended(stream, reason == nil ? .accepted : .refused, answer: answer)
        announce()
    }

    /// Notes requests whose streams the provider has closed.
    func noteAbandoned() {
        if captures.abandon(allBut: { session.request(on: $0) != nil }) { announce() }
    }

    // MARK: Rules

    func decide(
        _ request: PushRequest, _ stream: Int32, _ body: [UInt8], topic: String,
        _ fate: Fate
    ) {
        let facts = PushFacts(
            token: request.deviceToken ?? "", topic: topic,
            pushType: request.text(.pushType).flatMap(PushType.init(rawValue:)),
            headers: request.headers.map { ($0.name, $0.value) }, payload: body,
            identity: String(decoding: request.echo, as: UTF8.self), connection: captures.connection)
        guard let decision = captures.bench.decide(facts, at: context.now) else {
            return settle(stream, .pass, fate)
        }
        captures.decided(decision, on: stream)
        begin(decision, fate)
        var delay = decision.delayMilliseconds
        if let goaway = decision.goaway {
            switch goaway.time {
            case .before:
                say(goaway, for: stream)
                // The GOAWAY says that the push was not processed, so it must not be.
                guard goaway.namedStream(for: stream) >= stream else {
                    return finish(stream, .reset)
                }
                // The answer is sent in a later write, so that the provider reads the GOAWAY first.
                delay = max(delay, 1)
            case .after: captures.goaways[stream] = goaway
            }
        }
        guard delay > 0 else { return settle(stream, decision.outcome, fate) }
        captures.later(delay, stream, on: context.scheduler) { [unowned self] in
            settle(stream, decision.outcome, fate)
        }
    }

    /// Does to the connection and the device what a rule says.
    private func begin(_ decision: RuleDecision, _ fate: Fate) {
        let effect = decision.connection
        captures.effects.begin(effect, on: endpoint, context.scheduler)
        if effect.expiredCertificates > 0 {
            captures.bench.showExpiredCertificate(forNext: effect.expiredCertificates)
        }
        if let device = decision.device, case .post(let notification) = fate {
            captures.bench.plan(device, for: notification, at: context.now)
        }
    }

    /// Answers a request as the rule that matches it says, or as the relay would without rules if none does.
    func settle(
        _ stream: Int32, _ outcome: RuleEffect.Outcome, _ fate: Fate
    ) {
        guard let request = session.request(on: stream) else { return noteAbandoned() }
        switch outcome {
        case .pass:
            if case .forward = fate { return forward(request, stream) }
            if case .post(let notification) = fate {
                captures.posting(stream)
                if let rejection = session.post(notification, stream) {
                    answer(stream, .rejected(rejection))
                }
                // The home answers, and the GOAWAY follows its answer.
                return
            }
            if case .reject(let rejection) = fate {
                answer(stream, .rejected(rejection))
            } else {
                conclude(stream, .accepted, .captured, request)
            }
        case .lose: conclude(stream, .accepted, .lost, request)
        case .answer(let answer): say(answer, on: stream, request)
        case .unregister: preconditionFailure("rules say with which answer a token is unregistered")
        case .reset(let code):
            endpoint.streams.reset(stream, errorCode: code)
            finish(stream, .reset)
        case .close(let notifies):
            finish(stream, .closed)
            if notifies { endpoint.wire?.close(.localClose) } else { endpoint.wire?.abort(.localClose) }
            return
        }
        if let goaway = captures.goaways.removeValue(forKey: stream) { say(goaway, for: stream) }
    }

    /// Answers as the relay always does, and captures the answer.
    private func conclude(
        _ stream: Int32, _ verdict: PushResult, _ outcome: Capture.Outcome,
        _ request: PushRequest
    ) {
        var answer = Capture.Answer(at: context.now, status: 200)
        if case .rejected(let rejection, let since) = verdict {
            answer.status = rejection.status
            answer.reason = rejection.rawValue
            answer.timestamp = since?.milliseconds
            answer.retryAfter = request.retryAfterSeconds
        }
        session.respond(stream, verdict, request)
        captures.ended(stream, outcome, answer: answer)
        announce()
    }

    private func finish(_ stream: Int32, _ outcome: Capture.Outcome) {
        session.forget(stream)
        captures.ended(stream, outcome)
        announce()
    }

    // MARK: Actions of rules

    private func say(
        _ scripted: ScriptedAnswer, on stream: Int32, _ request: PushRequest
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
            if case .milliseconds(let time) = stall { finishLater(body, stream, time) }
        } else {
            endpoint.streams.respond(stream, head, body: body)
        }
        context.measures.count(scripted: scripted.reason)
        session.forget(stream)
        let answer = Capture.Answer(
            at: context.now, status: scripted.status, reason: scripted.reason, timestamp: scripted.timestamp,
            retryAfter: retryAfter)
        captures.ended(stream, .scripted, answer: answer)
        announce()
    }

    /// Sends the second half of a body later.
    private func finishLater(
        _ body: [UInt8], _ stream: Int32, _ milliseconds: Int
    ) {
        captures.stall(milliseconds, stream, on: context.scheduler) { [unowned self] in
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
    func announce() {
        guard captures.bench.isAwaited else { return }
        captures.bench.captureEnded()
        context.outbox.send(.control(.capturesChanged), to: 0)
    }
}
