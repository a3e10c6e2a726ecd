internal import PostriderJSON

/// Why a request of an application server is refused: the status of the answer, and the `errno` that Mozilla's push
/// service has for the same reason, because libraries read it (its documentation, *Error Codes*).
package enum WebPushRejection: Error, Equatable, Sendable {
    /// The request has no `TTL`.
    case missingTTL
    /// `TTL` is not a number of seconds, or occurs more than once.
    case invalidTTL
    /// `Urgency` is none of the four words of RFC 8030, or occurs more than once.
    case invalidUrgency
    /// `Topic` is too long or has other characters, or occurs more than once.
    case invalidTopic
    /// The message has no `Content-Encoding`, or one that devices cannot decrypt.
    case unknownEncoding
    /// The encoding `aesgcm` needs `Encryption` and `Crypto-Key`.
    case missingEncryptionKeys
    /// `Encryption` or `Crypto-Key` does not have the parameter that `aesgcm` needs, in base64, or is too long.
    case invalidEncryptionKeys
    /// The message has no bytes, and the subscription is one of an app that needs some.
    case emptyMessage
    /// The message is larger than ``Notifications/Limits/webPushBytes``, or than a quota allows.
    case messageTooLarge
    /// The subscription is restricted to a key, and the request has no VAPID token; or it has credentials of another
    /// scheme.
    case unauthorized
    /// The VAPID token is not valid.
    case forbidden(VAPIDFlaw)
    /// The address is none of a subscription, or of a message.
    case notFound
    /// The subscription was removed.
    case gone
    /// The method is not one of those, which are separated by commas.
    case methodNotAllowed(allowed: String)
    /// The subscription's device, or its app, has no room, or a quota is used up; try again after this many seconds.
    case tooManyRequests(retryAfterSeconds: Int)
    /// The relay cannot take messages now; try again after this many seconds.
    case unavailable(retryAfterSeconds: Int)

    /// The status code of the answer.
    package var status: Int {
        switch self {
        case .missingTTL, .invalidTTL, .invalidUrgency, .invalidTopic, .unknownEncoding,
            .missingEncryptionKeys, .invalidEncryptionKeys, .emptyMessage:
            400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .gone: 410
        case .messageTooLarge: 413
        case .tooManyRequests: 429
        case .unavailable: 503
        }
    }

    /// The number by which Mozilla's push service calls the reason; nil if it has none.
    package var errno: Int? {
        switch self {
        case .missingTTL: 111
        case .invalidTTL: 112
        case .invalidTopic: 113
        case .unknownEncoding, .invalidEncryptionKeys, .emptyMessage: 110
        case .missingEncryptionKeys: 101
        case .messageTooLarge: 104
        case .unauthorized, .forbidden: 109
        case .notFound: 102
        case .gone: 106
        case .tooManyRequests, .unavailable: 201
        case .invalidUrgency, .methodNotAllowed: nil
        }
    }

    /// The name of the status (RFC 9110).
    private var phrase: String {
        switch status {
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Bad Request"
        }
    }

    /// One sentence for the sender: what is wrong, and what to do.
    package var explanation: String {
        switch self {
        case .missingTTL:
            "TTL is missing: say for how many seconds the message is worth delivering"
        case .invalidTTL:
            "TTL must be one number of seconds, in digits"
        case .invalidUrgency:
            "Urgency must be one of very-low, low, normal and high"
        case .invalidTopic:
            "Topic must be one word of at most 32 letters, digits, '-' and '_'"
        case .unknownEncoding:
            "Content-Encoding must be aes128gcm (RFC 8291) or aesgcm: encrypt for the subscription"
        case .missingEncryptionKeys:
            "aesgcm needs the headers Encryption and Crypto-Key: send them, or encrypt with aes128gcm"
        case .invalidEncryptionKeys:
            "Encryption must have a salt, and Crypto-Key a dh, in base64url"
        case .emptyMessage:
            "the message has no bytes: the subscription's app takes from 1 to 4096"
        case .messageTooLarge:
            "the message has more than 4096 bytes after encryption, or more than a quota allows: send less"
        case .unauthorized:
            "the request has no VAPID token, which this subscription demands: send Authorization: vapid"
        case .forbidden(let flaw): flaw.explanation
        case .notFound:
            "the address does not exist: ask the user to subscribe again"
        case .gone:
            "the subscription was removed: do not use its address any more"
        case .methodNotAllowed(let allowed):
            "the address knows only \(allowed)"
        case .tooManyRequests:
            "there are too many messages: send again after the seconds in Retry-After"
        case .unavailable:
            "the service cannot take messages now: send again after the seconds in Retry-After"
        }
    }

    /// The header fields of the answer, without those of CORS.
    package var fields: [(name: String, value: String)] {
        var fields = [("content-type", "application/json")]
        switch self {
        case .unauthorized: fields.append(("www-authenticate", "vapid"))
        case .methodNotAllowed(let allowed): fields.append(("allow", allowed))
        case .tooManyRequests(let seconds), .unavailable(let seconds):
            fields.append(("retry-after", "\(seconds)"))
        default: break
        }
        return fields.map { (name: $0.0, value: $0.1) }
    }

    /// The body of the answer: a JSON object with the members of Mozilla's push service.
    package var body: [UInt8] {
        var members: [String: JSONValue] = [
            "code": .integer(Int64(status)), "error": .string(phrase), "message": .string(explanation),
        ]
        members["errno"] = errno.map { .integer(Int64($0)) }
        return JSONValue.object(members).bytes ?? []
    }
}
