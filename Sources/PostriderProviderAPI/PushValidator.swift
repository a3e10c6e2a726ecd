package import PostriderCallbacks
import PostriderCrypto
import PostriderHTTP2
import PostriderJSON
package import PostriderNotifications

/// Validates a push, in the order of checks that the contract prescribes (section 4.4). The device's home completes the
/// check: only the home knows whether the registration in the token is valid.
///
/// Each provider connection has one validator.
package final class PushValidator {
    private let tokens: ProviderTokens
    private let seal: DeviceTokenCodec
    private let topics: TopicCache
    private let environment: Environment
    /// The callbacks that the operator allows; nil if they are off.
    private let callbacks: CallbackConfiguration?
    /// The last permission that was found: for which key and topic, in which generation of the policy.
    private var allowed: (key: ProviderKey, topic: Topic, generation: UInt64)?

    package init(
        tokens: ProviderTokens, seal: DeviceTokenCodec, topics: TopicCache, environment: Environment,
        callbacks: CallbackConfiguration? = nil
    ) {
        self.tokens = tokens
        self.seal = seal
        self.topics = topics
        self.environment = environment
        self.callbacks = callbacks
    }

    /// The notification of a complete request.
    ///
    /// - Parameter isStrict: whether priority and topic must fit the push type, as on Apple's service.
    /// - Throws: the first rejection in the order of checks.
    package func admit(
        _ request: PushRequest, _ credentials: inout ProviderCredentials, by authority: AccessPolicy,
        isStrict: Bool, now: Moment
    ) throws(Rejection) -> Notification {
        let fields = request.values
        let values = fields.span

        // 1, 2 · Method and path.
        guard let method = request.range(.method), values.extracting(method).matches("POST") else {
            throw .methodNotAllowed
        }
        guard let path = request.range(.path), Self.isDevicePath(values.extracting(path)) else {
            throw .badPath
        }

        // 3 · No header twice.
        guard !request.hasDuplicates else { throw .duplicateHeaders }

        // 4 · Authentication.
        let permission = try credentials.authenticate(
            request.range(.authorization), in: values, of: environment, tokens, authority, now: now)

        // 5 to 9 · Identity, push type, expiration, priority, collapse identifier.
        guard let identity = request.identity else { throw .badMessageIdentifier }
        let expiration = try Self.expiration(request, now)
        let statedPriority = try Self.priority(request, values)
        let pushType = try Self.pushType(request, values)
        let priority = try Self.priority(statedPriority, for: pushType, isStrict)
        let collapseIdentifier = try Self.collapseIdentifier(request, values)

        // 10 · The topic.
        let topic = try topic(request, values, for: pushType, permission.defaultTopic, isStrict)
        guard allows(permission, topic, pushType, by: authority) else { throw .topicDisallowed }

        // 11 · The device token's form.
        let digits = path.lowerBound + Self.devicePath.utf8CodeUnitCount..<path.upperBound
        guard !digits.isEmpty else { throw .missingDeviceToken }
        let token = DeviceToken(hex: values.extracting(digits))
        guard token != nil || Self.isToken(values.extracting(digits)) else { throw .badDeviceToken }

        // 12 · The payload.
        guard Self.fits(request.bodyByteCount, pushType, topic) else { throw .payloadTooLarge }
        let payload = request.takeBody()
        guard !payload.isEmpty, JSONSyntax.isObject(payload.span) else { throw .payloadEmpty }

        // 13 · Whether the token is ours. The device's home checks the rest.
        guard let token, let (device, registration) = seal.open(token),
            registration.environment == environment
        else { throw .badDeviceToken }

        return Notification(
            identity: identity,
            device: device,
            registration: registration,
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseIdentifier: collapseIdentifier,
            payload: payload,
            acceptedAt: now,
            uniqueIdentity: request.uniqueIdentity,
            proof: permission.proof,
            callback: callback(request),
            traceContext: request.traceContext
        )
    }

    /// The URL of `postrider-callback`. If callbacks are off, or the URL is not allowed, the header is ignored, as APNs
    /// ignores headers that it does not know: a push never fails because of its callback.
    private func callback(_ request: PushRequest) -> String? {
        // Asked second, because that copies the configuration, and few pushes name a URL.
        guard let text = request.text(.callback), let callbacks else { return nil }
        guard let url = callbacks.policy.url(text) else {
            callbacks.counts.add(.ignored)
            return nil
        }
        return url.text
    }

    /// Whether the provider may push to a topic. The last result is cached, because most providers have one app.
    private func allows(
        _ permission: ProviderGrant, _ topic: Topic, _ pushType: PushType?, by authority: AccessPolicy
    ) -> Bool {
        guard case .token(let key) = permission else {
            return permission.allows(topic, pushType, by: authority)
        }
        if allowed?.generation == authority.generation, allowed?.key === key, allowed?.topic == topic {
            return true
        }
        guard permission.allows(topic, pushType, by: authority) else { return false }
        allowed = (key, topic, authority.generation)
        return true
    }

    private static var devicePath: StaticString { "/3/device/" }

    private static func isDevicePath(_ path: Span<UInt8>) -> Bool {
        let byteCount = devicePath.utf8CodeUnitCount
        return path.count >= byteCount && path.extracting(..<byteCount).matches(devicePath)
    }

    /// Whether this has the form of a device token: any even number of digits up to the maximum. Apple's tokens may
    /// have any length; the length of ours is checked when they are opened.
    package static func isToken(_ digits: Span<UInt8>) -> Bool {
        guard digits.count.isMultiple(of: 2), digits.count <= Limits.deviceTokenDigits else { return false }
        for index in digits.indices where Hexadecimal.value(digits[index]) == nil { return false }
        return true
    }

    /// Whether a payload may have this size. Old libraries send no push type, and mark Voice over IP only by the
    /// topic's suffix.
    private static func fits(_ byteCount: Int, _ type: PushType?, _ topic: Topic) -> Bool {
        if byteCount <= (type ?? .alert).rule.payloadBytes { return true }
        return byteCount <= PushType.voip.rule.payloadBytes && topic.suffixType == .voip
    }

    /// `apns-expiration`, or the storage limit.
    private static func expiration(_ request: PushRequest, _ now: Moment) throws(Rejection) -> Expiration {
        let latest = now.advanced(byMilliseconds: Limits.storedDays * 24 * 60 * 60 * 1000)
        guard let moment = try request.expirationMoment() else { return .at(latest) }
        return Expiration(moment, now: now, latest: latest)
    }

    private static func priority(_ request: PushRequest, _ values: Span<UInt8>) throws(Rejection) -> Priority?
    {
        guard let range = request.range(.priority) else { return nil }
        guard let priority = Priority(values.extracting(range)) else { throw .badPriority }
        return priority
    }

    /// The priority that counts for a push type. A background push is never immediate: without the header it has
    /// priority 5, and so has one with 10, unless the relay is strict and refuses it.
    private static func priority(
        _ stated: Priority?, for type: PushType?, _ isStrict: Bool
    ) throws(Rejection) -> Priority {
        guard let allowed = type?.rule.priorities else { return stated ?? .immediate }
        guard let stated else { return allowed.upperBound }
        guard !isStrict || allowed.contains(stated) else { throw .badPriority }
        return min(stated, allowed.upperBound)
    }

    private static func pushType(_ request: PushRequest, _ values: Span<UInt8>) throws(Rejection) -> PushType?
    {
        guard let range = request.range(.pushType) else { return nil }
        guard let type = PushType(values.extracting(range)) else { throw .invalidPushType }
        return type
    }

    private static func collapseIdentifier(_ request: PushRequest, _ values: Span<UInt8>) throws(Rejection)
        -> String?
    {
        guard let range = request.range(.collapseIdentifier), !range.isEmpty else { return nil }
        guard range.count <= Limits.collapseIdentifierBytes,
            let text = String(validating: request.values[range], as: UTF8.self)
        else { throw .badCollapseIdentifier }
        return text
    }

    /// `apns-topic`, or the default topic. A strict relay requires the suffix that belongs to the push type, and allows
    /// no other.
    private func topic(
        _ request: PushRequest, _ values: Span<UInt8>, for type: PushType?, _ usual: Topic?,
        _ isStrict: Bool
    ) throws(Rejection) -> Topic {
        let topic: Topic
        if let range = request.range(.topic), !range.isEmpty {
            guard let named = topics.topic(values.extracting(range)) else { throw .badTopic }
            topic = named
        } else {
            guard let usual else { throw .missingTopic }
            topic = usual
        }
        if isStrict, let type, topic.suffixType != (type.rule.topicSuffix.isEmpty ? nil : type) {
            throw .badTopic
        }
        return topic
    }
}
