internal import PostriderJSON

/// A message of the service in the autopush protocol.
package enum AutopushResponse: Equatable, Sendable {
    /// The answer to `hello`: the device's identity, new or the one that it presented. A device that gets another
    /// identity than it had forgets its subscriptions.
    case hello(identity: String)
    /// The answer to `register`: the URL for senders.
    case registered(channel: String, endpoint: String)
    /// The answer to a `register` that failed, with a status of HTTP.
    case registrationFailed(channel: String, status: Int)
    /// The answer to `unregister`.
    case unregistered(channel: String, status: Int)
    /// A message of an application server.
    case notification(AutopushNotification)
    /// The answer to a ping.
    case ping

    /// The text of the message.
    package var bytes: [UInt8] {
        var members: [String: JSONValue]
        switch self {
        case .hello(let identity):
            members = [
                "messageType": .string("hello"), "uaid": .string(identity), "status": .integer(200),
                "use_webpush": .boolean(true), "broadcasts": .object([:]),
            ]
        case .registered(let channel, let endpoint):
            members = [
                "messageType": .string("register"), "channelID": .string(channel), "status": .integer(200),
                "pushEndpoint": .string(endpoint),
            ]
        case .registrationFailed(let channel, let status):
            members = [
                "messageType": .string("register"), "channelID": .string(channel),
                "status": .integer(Int64(status)),
            ]
        case .unregistered(let channel, let status):
            members = [
                "messageType": .string("unregister"), "channelID": .string(channel),
                "status": .integer(Int64(status)),
            ]
        case .notification(let notification): members = notification.members
        case .ping: members = [:]
        }
        // Nothing here is a number that JSON cannot write.
        return JSONValue.object(members).bytes ?? []
    }
}

/// A message of an application server on its way to an autopush device.
package struct AutopushNotification: Equatable, Sendable {
    /// The channel of the subscription.
    package let channel: String
    /// Names the notification when the device acknowledges it. A device that sees it again drops it.
    package let version: String
    /// The message.
    package let message: WebPushMessage

    /// Creates a notification.
    package init(channel: String, version: String, message: WebPushMessage) {
        self.channel = channel
        self.version = version
        self.message = message
    }

    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "messageType": .string("notification"), "channelID": .string(channel),
            "version": .string(version),
        ]
        guard let encryption = message.encryption else { return members }
        members["data"] = .string(Base64URL.text(message.bytes))
        var headers: [String: JSONValue] = ["encoding": .string(encryption.name)]
        if case .aesgcm(let encryption, let cryptoKey) = encryption {
            headers["encryption"] = .string(encryption)
            headers["crypto_key"] = .string(cryptoKey)
        }
        members["headers"] = .object(headers)
        return members
    }
}
