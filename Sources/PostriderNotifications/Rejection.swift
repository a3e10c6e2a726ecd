/// The reasons with which a push is refused, with Apple's words and statuses (Apple, "Handling notification responses
/// from APNs"; section 4.2 of the contract). No other word is sent, because some clients crash on unknown reasons.
public enum Rejection: String, CaseIterable, Error, Sendable {
    case badCollapseIdentifier = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageIdentifier = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIdentifierInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIdentifierInToken = "BadEnvironmentKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    // These are only for channels and broadcasts (Apple, "Handling error responses from Apple Push Notification
    // service").
    case badChannelIdentifier = "BadChannelId"
    case badRequestParameters = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case cannotCreateChannel = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelIdentifier = "MissingChannelId"
    case missingPushType = "MissingPushType"
    case topicMismatch = "TopicMismatch"

    /// The HTTP status of the reason.
    public var status: Int {
        switch self {
        case .badCollapseIdentifier, .badDeviceToken, .badExpirationDate, .badMessageIdentifier, .badPriority,
            .badTopic, .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType,
            .missingDeviceToken, .missingTopic, .payloadEmpty, .topicDisallowed, .badChannelIdentifier,
            .badRequestParameters, .badRequestPayload, .cannotCreateChannel, .channelNotRegistered,
            .featureNotEnabled, .missingChannelIdentifier, .missingPushType:
            400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
            .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIdentifierInToken, .badEnvironmentKeyIdentifierInToken,
            .topicMismatch:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }

    /// The JSON body of the answer. A 410 has `timestamp`, the moment since which the token is invalid, in
    /// milliseconds since 1970; no other status has it.
    ///
    /// - Parameter usesLiveSpellings: whether the reason is spelled as Apple's service spells it where that differs
    ///   from the documentation.
    public func body(since timestamp: Moment? = nil, usesLiveSpellings: Bool = false) -> [UInt8] {
        precondition((status == 410) == (timestamp != nil), "a 410, and only a 410, carries its timestamp")
        let reason = usesLiveSpellings ? liveSpelling : rawValue
        guard let timestamp else { return Array("{\"reason\":\"\(reason)\"}".utf8) }
        return Array("{\"reason\":\"\(reason)\",\"timestamp\":\(timestamp.milliseconds)}".utf8)
    }

    /// The word that Apple's service was observed to send (section 10, line 1, of the contract).
    private var liveSpelling: String {
        self == .badEnvironmentKeyIdentifierInToken ? "BadEnvironmentKeyInToken" : rawValue
    }
}
