package import PostriderChannels
import PostriderJSON
package import PostriderNotifications

/// The path of a request about channels (the contract's sections 6 and 7).
package enum ChannelPath: Equatable {
    /// `/1/apps/<bundle>/channels`, with the range of the bundle.
    case channels(Range<Int>)
    /// `/1/apps/<bundle>/all-channels`.
    case allChannels(Range<Int>)
    /// `/4/broadcasts/apps/<bundle>`.
    case broadcasts(Range<Int>)

    /// Whether a path may be one of these. Two bytes decide, so that pushes to devices lose no time.
    package static func isOne(_ path: Span<UInt8>) -> Bool {
        path.count > 2 && path[2] == UInt8(ascii: "/")
            && (path[1] == UInt8(ascii: "1") || path[1] == UInt8(ascii: "4"))
    }

    /// Parses a path; nil if it is not one of these.
    init?(_ path: Span<UInt8>) {
        let slashes = path.indices.filter { path[$0] == UInt8(ascii: "/") }
        guard slashes.first == 0, slashes.count == 4 else { return nil }
        let parts = zip(slashes, slashes.dropFirst() + [path.count]).map { $0 + 1..<$1 }
        func spells(_ part: Int, _ text: String) -> Bool { path.extracting(parts[part]).spells(text) }
        if spells(0, "1"), spells(1, "apps"), spells(3, "channels") {
            self = .channels(parts[2])
        } else if spells(0, "1"), spells(1, "apps"), spells(3, "all-channels") {
            self = .allChannels(parts[2])
        } else if spells(0, "4"), spells(1, "broadcasts"), spells(2, "apps") {
            self = .broadcasts(parts[3])
        } else {
            return nil
        }
    }

    var bundle: Range<Int> {
        switch self {
        case .channels(let range), .allChannels(let range), .broadcasts(let range): range
        }
    }
}

/// Validates a request about channels. The home of the app's channels completes the check: only that shard knows which
/// channels there are.
package struct ChannelRequestValidator {
    let authority: AccessPolicy
    let tokens: ProviderTokens
    let environment: Environment
    /// Whether numbers that are written as text are refused.
    let isStrict: Bool
    let now: Moment

    /// A validator for one request.
    package init(
        authority: AccessPolicy, tokens: ProviderTokens, environment: Environment, isStrict: Bool, now: Moment
    ) {
        (self.authority, self.tokens, self.environment) = (authority, tokens, environment)
        (self.isStrict, self.now) = (isStrict, now)
    }

    /// The order in a complete request, and the app whose channels it is about.
    ///
    /// - Throws: the first rejection in the order of checks.
    package func admit(_ request: PushRequest, _ credentials: inout ProviderCredentials) throws(Rejection)
        -> (ChannelCommand, ChannelOwner)
    {
        let fields = request.values
        let values = fields.span

        // 1, 2 · Method and path.
        guard let range = request.range(.path), let path = ChannelPath(values.extracting(range)) else {
            throw .badPath
        }
        let method = request.range(.method).map { String(decoding: fields[$0], as: UTF8.self) } ?? ""
        guard Self.methods(of: path).contains(method) else { throw .methodNotAllowed }

        // 3 · No header twice.
        guard !request.hasDuplicates else { throw .duplicateHeaders }

        // 4 · Authentication.
        let permission = try credentials.authenticate(
            request.range(.authorization), in: values, of: environment, tokens, authority, now: now)

        // 5 · The request's identifier.
        let identity = try identity(request, values)

        // 6 · The app.
        let bundle = path.bundle.lowerBound + range.lowerBound..<path.bundle.upperBound + range.lowerBound
        let topic = try topic(String(decoding: fields[bundle], as: UTF8.self), permission)
        let owner = ChannelOwner(topic: topic, environment: environment)

        // 7 · The channel and the action.
        switch path {
        case .allChannels: return (.list, owner)
        case .channels where method == "POST": return (.create(try storage(request)), owner)
        case .channels:
            let channel = try channel(request, values)
            return (method == "GET" ? .read(channel) : .remove(channel), owner)
        case .broadcasts:
            return (try broadcast(request, values, identity, topic, permission.proof), owner)
        }
    }

    private static func methods(of path: ChannelPath) -> [String] {
        switch path {
        case .channels: ["POST", "GET", "DELETE"]
        case .allChannels: ["GET"]
        case .broadcasts: ["POST"]
        }
    }

    /// The identifier of the request: `apns-request-id` or, as in Apple's own sample, `apns-id`; drawn by the relay if
    /// there is neither.
    private func identity(_ request: PushRequest, _ values: Span<UInt8>) throws(Rejection)
        -> NotificationIdentity
    {
        guard let identity = request.identity else { throw .badMessageIdentifier }
        guard let range = request.range(.requestIdentifier) else { return identity }
        guard let identity = NotificationIdentity(text: values.extracting(range)) else {
            throw .badMessageIdentifier
        }
        return identity
    }

    private func topic(_ text: String, _ permission: ProviderGrant) throws(Rejection) -> Topic {
        guard let topic = Topic(text) else { throw .topicMismatch }
        guard topic.suffixType == nil else { throw .topicDisallowed }
        guard permission.allows(topic, nil, by: authority) else { throw .topicMismatch }
        guard authority.broadcastTopics.contains(topic) else { throw .featureNotEnabled }
        return topic
    }

    private func channel(_ request: PushRequest, _ values: Span<UInt8>) throws(Rejection) -> ChannelIdentity {
        guard let range = request.range(.channelIdentifier), !range.isEmpty else {
            throw .missingChannelIdentifier
        }
        guard let channel = ChannelIdentity(text: values.extracting(range)) else {
            throw .badChannelIdentifier
        }
        return channel
    }

    // MARK: Creation

    private func storage(_ request: PushRequest) throws(Rejection) -> ChannelStorage {
        guard request.bodyByteCount <= Limits.broadcastPayloadBytes else { throw .payloadTooLarge }
        let body = request.takeBody()
        guard !body.isEmpty else { throw .payloadEmpty }
        guard let settings = JSONValue.members(ofObject: body.span) else { throw .badRequestPayload }
        let (policyName, pushTypeName) = ("message-storage-policy", "push-type")
        guard settings.keys.allSatisfy({ $0 == policyName || $0 == pushTypeName }) else {
            throw .badRequestParameters
        }
        guard let pushType = settings[pushTypeName]?.string else { throw .missingPushType }
        guard Self.isLiveActivity(pushType) else { throw .invalidPushType }
        guard let policy = settings[policyName], let number = wholeNumber(policy),
            let storage = ChannelStorage(rawValue: number)
        else { throw .badRequestParameters }
        return storage
    }

    /// The value of a member as a whole number. Examples on the web write numbers as text (`"1"`), which a strict relay
    /// refuses.
    private func wholeNumber(_ member: JSONValue) -> Int? {
        if let number = member.wholeNumber { return Int(exactly: number) }
        return isStrict ? nil : member.string.flatMap { Int($0) }
    }

    /// Documents write `LiveActivity`, `Liveactivity` and `liveactivity`.
    private static func isLiveActivity(_ text: String) -> Bool {
        text.lowercased() == PushType.liveactivity.rawValue
    }

    // MARK: Broadcasts

    private func broadcast(
        _ request: PushRequest, _ values: Span<UInt8>, _ identity: NotificationIdentity, _ topic: Topic,
        _ proof: ProviderProof
    ) throws(Rejection) -> ChannelCommand {
        let channel = try channel(request, values)
        let expiration = try expiration(request)
        guard let range = request.range(.priority), let priority = Priority(values.extracting(range)),
            priority >= .considerate
        else { throw .badPriority }
        guard let range = request.range(.pushType), !range.isEmpty else { throw .missingPushType }
        guard Self.isLiveActivity(String(decoding: request.values[range], as: UTF8.self)) else {
            throw .invalidPushType
        }
        guard request.bodyByteCount <= Limits.broadcastPayloadBytes else { throw .payloadTooLarge }
        let payload = request.takeBody()
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard JSONSyntax.isObject(payload.span) else { throw .badRequestPayload }
        let broadcast = Broadcast(
            identity: identity,
            channel: channel,
            topic: topic,
            payload: payload,
            priority: priority,
            expiration: expiration.0,
            pushType: .liveactivity,
            acceptedAt: now,
            traceContext: request.traceContext
        )
        return .broadcast(broadcast, isNowOrNever: expiration.isZero, by: proof)
    }

    /// `apns-expiration`, which a broadcast must have. The earlier of it and the storage limit counts; a moment that
    /// has passed is treated as 0.
    private func expiration(_ request: PushRequest) throws(Rejection) -> (Expiration, isZero: Bool) {
        guard let moment = try request.expirationMoment() else { throw .badExpirationDate }
        let latest = now.advanced(byMilliseconds: Limits.broadcastStoredHours * 60 * 60 * 1000)
        return (Expiration(moment, now: now, latest: latest), isZero: moment == Moment(seconds: 0))
    }
}

extension Rejection {
    /// The JSON body in this family. Apple's table prints one of its reasons with a space.
    package func channelBody(usesLiveSpellings: Bool = false) -> [UInt8] {
        self == .serviceUnavailable
            ? Array(#"{"reason":"Service Unavailable"}"#.utf8) : body(usesLiveSpellings: usesLiveSpellings)
    }
}
