import PostriderChannels
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI

/// A provider's requests about channels and broadcasts.
extension ProviderSession {
    /// Whether a request is about channels or a broadcast.
    func isAboutChannels(_ request: PushRequest) -> Bool {
        guard let path = request.range(.path) else { return false }
        let values = request.values
        return ChannelPath.isOne(values.span.extracting(path))
    }

    /// Validates a complete request and sends it to the home of the app's channels, or answers why not.
    func takeOrder(_ request: PushRequest, _ stream: Int32) {
        request.phase = .ordering(ChannelEcho(request))
        let context = context
        let address = ReplyAddress(shard: Int32(context.index), stream: stream, connection: number)
        do throws(Rejection) {
            guard !isDraining else { throw .shutdown }
            let admission = ChannelRequestValidator(
                authority: context.policy, tokens: connections.tokens, environment: environment,
                isStrict: connections.compatibility.isStrict, now: context.now)
            let (order, owner) = try admission.admit(request, &credentials)
            if case .broadcast(let broadcast, _, _) = order {
                try context.charge(request, owner.topic, payloadBytes: broadcast.payload.count)
            }
            if case .list = order, listings.count >= Limits.listings { throw .tooManyRequests }
            let request = WaitingRequest(.order(order, owner), address)
            if let rejection = context.waiting.route(request) { throw rejection }
            if case .list = order { listings.insert(stream) }
        } catch {
            answer(stream, .rejected(error))
        }
    }

    /// Sends the answer to a request. If its stream was reset meanwhile, nothing is sent.
    func answer(_ stream: Int32, _ answer: ChannelAnswer) {
        guard let request = exchanges[stream], case .ordering(let echo) = request.phase else { return }
        let (isHead, retryAfter) = (request.isHead, request.retryAfterSeconds)
        forget(stream)
        observed?.noteAnswered(stream, status: answer.status, reason: answer.rejection)
        raiseStreamLimit()
        let body = answer.body(usesLiveSpellings: connections.compatibility.usesLiveSpellings)
        connections.reply.removeAll()
        answer.write(to: &connections.reply, echo, hasBody: !body.isEmpty)
        retryAfter.map { connections.reply.add("retry-after", String($0)) }
        if body.isEmpty || isHead {
            endpoint.streams.respond(stream, connections.reply)
        } else {
            say(body, on: stream)
        }
    }

    /// A list of all channels, or of devices, may be longer than one frame.
    func say(_ body: [UInt8], on stream: Int32) {
        guard body.count > 16_384 else {
            return endpoint.streams.respond(stream, connections.reply, body: body)
        }
        endpoint.streams.openResponse(stream, connections.reply)
        endpoint.streams.send(stream, body.span)
        endpoint.streams.finish(stream)
    }
}
