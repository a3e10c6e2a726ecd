import PostriderCaptures
import PostriderEndpoints
import PostriderHTTP2
import PostriderJSON
import PostriderNotifications
import PostriderProviderAPI
import PostriderRules
import PostriderTransport

/// The path of a request that is passed on to another server, unless a rule decides about it.
extension ObservedConnection {
    /// Passes a captured request on, or does what rules say. The other server judges the request: this relay refuses
    /// only a body that is too large for it to keep, as every APNs does.
    func passOn(_ request: PushRequest, _ stream: Int32) {
        request.phase = .observed
        guard !session.isDraining else { return settle(stream, .pass, .reject(.shutdown)) }
        guard request.bodyByteCount <= Limits.voipPayloadBytes else {
            return settle(stream, .pass, .reject(.payloadTooLarge))
        }
        // Rules are about pushes to devices.
        guard request.deviceToken != nil else { return settle(stream, .pass, .forward) }
        decide(
            request, stream, request.body, topic: request.text(.topic) ?? "", .forward)
    }

    /// Passes a request on.
    func forward(_ request: PushRequest, _ stream: Int32) {
        guard let connection = captures.upstreamConnection(on: context.scheduler) else {
            preconditionFailure("only a relay with an upstream passes requests on")
        }
        connection.send(UpstreamRequest(request)) { [weak self] result in
            self?.finish(stream, result)
        }
    }

    /// Gives the provider what the other server has answered.
    private func finish(_ stream: Int32, _ result: UpstreamResult) {
        guard let request = session.request(on: stream), case .observed = request.phase else { return }
        let goaway = captures.goaways.removeValue(forKey: stream)
        captures.noteUpstream(result, on: stream, log: context.log)
        switch result {
        case .response(let status, let fields, let body):
            // A provider whose token is good may have as many streams open as any other.
            if status != Rejection.forbidden.status { session.raiseStreamLimitOfAuthenticated() }
            respond(stream, status, fields, body, request)
            if request.deviceToken != nil { context.measures.passedOnPushes += 1 }
            let answer = Capture.Answer(at: context.now, status: status, fields: fields, body: body)
            captures.ended(stream, .forwarded, answer: answer)
        case .reset(let errorCode):
            endpoint.streams.reset(stream, errorCode: errorCode)
            session.forget(stream)
            captures.ended(stream, .unanswered, answer: nil)
        case .notSent: refuse(.serviceUnavailable, stream, request)
        case .lost: refuse(.internalServerError, stream, request)
        }
        announce()
        if let goaway { say(goaway, for: stream) }
    }

    /// Answers in the place of the other server.
    private func refuse(
        _ rejection: Rejection, _ stream: Int32, _ request: PushRequest
    ) {
        session.respond(stream, .rejected(rejection), request)
        captures.ended(
            stream, .unanswered,
            answer: Capture.Answer(at: context.now, status: rejection.status, reason: rejection.rawValue))
    }

    /// The most bytes of a body that one frame holds.
    private static let frameBytes = 16_384

    private func respond(
        _ stream: Int32, _ status: Int, _ fields: [Capture.Field], _ body: [UInt8], _ request: PushRequest
    ) {
        var head = HeaderBlock()
        head.add(":status", String(status))
        for field in fields { head.add(field) }
        if body.isEmpty || request.isHead {
            endpoint.streams.respond(stream, head)
        } else if body.count <= Self.frameBytes {
            endpoint.streams.respond(stream, head, body: body)
        } else {
            endpoint.streams.openResponse(stream, head)
            endpoint.streams.send(stream, body.span)
            endpoint.streams.finish(stream)
        }
        session.forget(stream)
    }
}

extension UpstreamRequest {
    /// The request as it came, but for the host.
    init(_ request: PushRequest) {
        let fields = request.headers
        func value(_ name: String) -> String { fields.first { $0.name == name }?.value ?? "" }
        method = value(":method")
        path = value(":path")
        self.fields = fields.filter { !$0.name.hasPrefix(":") && $0.name != "host" }
        body = request.body
    }
}

extension HeaderBlock {
    /// Adds a field. Values that differ in each message do not enter the HPACK table.
    fileprivate mutating func add(_ field: Capture.Field) {
        if field.name == "apns-id" || field.name == "apns-unique-id" {
            addUnindexed(field.name, field.value)
        } else {
            add(field.name, field.value)
        }
    }
}

extension Capture.Answer {
    /// The answer of another server.
    fileprivate init(at moment: Moment, status: Int, fields: [Capture.Field], body: [UInt8]) {
        let members = JSONValue.members(ofObject: body.span)
        self.init(
            at: moment, status: status, reason: members?["reason"]?.string,
            timestamp: members?["timestamp"]?.wholeNumber,
            retryAfter: fields.first { $0.name == "retry-after" }.flatMap { Int($0.value) })
        headers = fields
        self.body = Array(body.prefix(Limits.captureAnswerBytes))
    }
}
