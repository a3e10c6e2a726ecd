import PostriderChannels
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI

/// A provider's requests for the device tokens of devices that it knows by name or tag, and for the states of its
/// pushes. Shard 0 answers them.
extension ProviderSession {
    /// Whether a request is such a one. On a relay without keys that may look up devices, none is.
    func isLookup(_ request: PushRequest) -> Bool {
        guard !connections.lookups.isEmpty, let path = request.range(.path) else { return false }
        let values = request.values
        return LookupRequestValidator.isOne(values.span.extracting(path))
    }

    /// Validates a complete request and sends it to shard 0, or answers why not.
    func takeLookup(_ request: PushRequest, _ stream: Int32) {
        request.phase = .ordering(ChannelEcho(request))
        let context = context
        do throws(Rejection) {
            guard !isDraining else { throw .shutdown }
            let validator = LookupRequestValidator(
                authority: context.policy, tokens: connections.tokens, environment: environment,
                permissions: connections.lookups, now: context.now)
            let question = try validator.admit(request, &credentials)
            guard !context.outbox.isCongested(0), listings.count < Limits.listings else {
                throw .tooManyRequests
            }
            listings.insert(stream)
            if case .devices(let lookup) = question {
                context.log.info(
                    "provider key \(lookup.key) looks up \(lookup.isAll ? "all " : "")devices of "
                        + lookup.topic.text,
                    kind: "lookup", from: lookup.key, fields: .init(topic: lookup.topic.text))
            }
            let address = ReplyAddress(shard: Int32(context.index), stream: stream, connection: number)
            context.outbox.send(.control(.lookUp(question, address)), to: 0)
        } catch {
            answer(stream, ChannelAnswer.rejected(error))
        }
    }

    /// Sends the answer to a lookup. If its stream was reset meanwhile, nothing is sent.
    func answer(_ stream: Int32, _ answer: LookupAnswer) {
        guard let request = exchanges[stream], case .ordering = request.phase else { return }
        let body: [UInt8]
        switch answer {
        case .success(let json): body = json
        case .failure(let rejection):
            request.retryAfterSeconds = 1
            return self.answer(stream, ChannelAnswer.rejected(rejection))
        }
        forget(stream)
        observed?.noteAnswered(stream, status: 200, reason: nil)
        raiseStreamLimit()
        connections.reply.removeAll()
        connections.reply.add(":status", "200")
        connections.reply.add("content-type", "application/json")
        say(body, on: stream)
    }
}
