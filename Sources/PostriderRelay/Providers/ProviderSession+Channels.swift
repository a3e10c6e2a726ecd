import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// The names under which a request about channels is answered: the provider's own, byte for byte, or one that was
/// drawn for it. Apple's samples of a broadcast write `apns-id` here and `apns-request-id` there, so that its answer
/// has both.
struct ChannelEcho {
    let requestIdentifier: [UInt8]
    /// For broadcasts.
    let identifier: [UInt8]?

    init(_ request: PushRequest) {
        let named = request.range(.requestIdentifier).map { Array(request.values[$0]) }
        requestIdentifier = named ?? request.echo
        let isBroadcast = request.range(.path).map { request.values[$0].starts(with: "/4/".utf8) } ?? false
        let hasIdentifier = request.range(.identifier) != nil
        identifier = isBroadcast ? (hasIdentifier ? request.echo : requestIdentifier) : nil
    }
}

/// The other family of requests that a provider may make: channels and broadcasts.
extension ProviderSession {
    /// Whether a request is of this family.
    func isAboutChannels(_ request: PushRequest) -> Bool {
        guard let path = request.range(.path) else { return false }
        let values = request.values
        return ChannelPath.isOne(values.span.extracting(path))
    }

    /// Admits a complete request and sends it to the home of the app's channels, or answers why not.
    func takeOrder(_ request: PushRequest, _ stream: Int32) {
        request.phase = .ordering(ChannelEcho(request))
        let receipt = ReplyAddress(shard: Int32(shard.index), stream: stream, connection: number)
        do throws(Rejection) {
            guard !isDraining else { throw .shutdown }
            let admission = ChannelRequestValidator(
                authority: shard.authority, tokens: shard.tokens, environment: environment,
                isStrict: shard.fidelity.isStrict, now: shard.now)
            let (order, owner) = try admission.admit(request, &credentials)
            let home = owner.home(among: shard.outbox.shardCount)
            guard !shard.outbox.isCongested(home) else { throw .tooManyRequests }
            if case .list = order {
                guard listings.count < Limits.listings else { throw .tooManyRequests }
                listings.insert(stream)
            }
            shard.outbox.send(.channel(.order(order, owner, receipt)), to: home)
        } catch {
            answer(stream, .rejected(error))
        }
    }

    /// Tells the provider what became of its order. One that was reset meanwhile is forgotten.
    func answer(_ stream: Int32, _ answer: ChannelAnswer) {
        guard let request = exchanges[stream], case .ordering(let echo) = request.phase else { return }
        let isHead = request.isHead
        forget(stream)
        raiseStreamLimit()
        var body: [UInt8] = []
        shard.reply.removeAll()
        shard.reply.add(":status", answer.status)
        shard.reply.addUnindexed("apns-request-id", echo.requestIdentifier.span)
        if let identifier = echo.identifier { shard.reply.addUnindexed("apns-id", identifier.span) }
        switch answer {
        case .created(let channel): shard.reply.addUnindexed("apns-channel-id", channel.description)
        case .settings(let storage):
            body = Array(
                #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#.utf8)
        case .list(let channels):
            body = Self.body(listing: channels)
        case .removed, .accepted: break
        case .rejected(let rejection):
            body = rejection.channelBody(usesLiveSpellings: shard.fidelity.usesLiveSpellings)
        }
        if !body.isEmpty { shard.reply.add("content-type", "application/json") }
        if body.isEmpty || isHead {
            endpoint.streams.respond(stream, shard.reply)
        } else {
            say(body, on: stream)
        }
    }

    private static func body(listing channels: [ChannelIdentity]) -> [UInt8] {
        var body = Array(#"{"channels":["#.utf8)
        body.reserveCapacity(body.count + channels.count * (ChannelIdentity.textByteCount + 3) + 2)
        for channel in channels {
            if channel != channels.first { body.append(UInt8(ascii: ",")) }
            body.append(UInt8(ascii: "\""))
            channel.write(to: &body)
            body.append(UInt8(ascii: "\""))
        }
        body += Array("]}".utf8)
        return body
    }

    /// A list of all channels has more bytes than a frame.
    private func say(_ body: [UInt8], on stream: Int32) {
        guard body.count > 16_384 else { return endpoint.streams.respond(stream, shard.reply, body: body) }
        endpoint.streams.openResponse(stream, shard.reply)
        endpoint.streams.send(stream, body.span)
        endpoint.streams.finish(stream)
    }
}

extension ChannelAnswer {
    fileprivate var status: String {
        switch self {
        case .created: "201"
        case .settings, .list, .accepted: "200"
        case .removed: "204"
        case .rejected(let rejection): String(rejection.status)
        }
    }
}

extension Rejection {
    /// The JSON body in this family, where Apple's table prints one of the reasons with a space.
    func channelBody(usesLiveSpellings: Bool = false) -> [UInt8] {
        self == .serviceUnavailable
            ? Array(#"{"reason":"Service Unavailable"}"#.utf8) : body(usesLiveSpellings: usesLiveSpellings)
    }
}
