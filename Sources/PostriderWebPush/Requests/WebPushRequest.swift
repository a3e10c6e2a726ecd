package import PostriderNotifications

/// A request of an application server to deliver a message (RFC 8030, section 5), with its header fields checked.
package struct WebPushRequest: Equatable, Sendable {
    /// How much a device may save by waiting (RFC 8030, section 5.3).
    package enum Urgency: String, CaseIterable, Sendable {
        case veryLow = "very-low"
        case low
        case normal
        case high
    }

    /// Seconds for which the message is stored, at most ``Notifications/Limits/storedDays``; 0 for one attempt.
    package let secondsToLive: Int64
    /// How urgent it is; normal if the request does not say.
    package let urgency: Urgency
    /// Replaces a message with the same topic that waits; nil if the request has none.
    package let topic: String?
    /// Whether the sender wants a receipt when the device has acknowledged the message (RFC 8030, section 5.1).
    package let wantsReceipt: Bool
    /// The URL of the receipt subscription that the sender would like to use again (RFC 8030, section 5.1); nil for a
    /// new one. It is not checked yet.
    package let receipts: String?
    /// The body as it came.
    package let body: [UInt8]
    /// The message for a browser, or why no browser can decrypt it.
    package let message: Result<WebPushMessage, WebPushRejection>
    /// The VAPID credentials, which are not verified yet; nil if the request has none.
    package let credentials: VAPIDCredentials?

    /// Creates a request from fields that were checked before.
    package init(
        secondsToLive: Int64, urgency: Urgency, topic: String?, wantsReceipt: Bool, body: [UInt8],
        message: Result<WebPushMessage, WebPushRejection>, credentials: VAPIDCredentials?
    ) {
        self.secondsToLive = secondsToLive
        self.urgency = urgency
        self.topic = topic
        self.wantsReceipt = wantsReceipt
        receipts = nil
        self.body = body
        self.message = message
        self.credentials = credentials
    }

    /// Reads a request from its header fields and its body.
    ///
    /// - Parameters:
    ///   - body: the body, of which bytes beyond one more than ``Notifications/Limits/webPushBytes`` may be missing.
    ///   - values: gives the values of a header field by its name in lower case, in their order.
    package init(body: [UInt8], values: (String) -> [String]) throws(WebPushRejection) {
        secondsToLive = try Self.secondsToLive(values("ttl"))
        let urgencies = values("urgency")
        guard urgencies.count <= 1 else { throw .invalidUrgency }
        guard let urgency = Urgency(rawValue: urgencies.first?.trimmed.lowercased() ?? "normal") else {
            throw .invalidUrgency
        }
        self.urgency = urgency
        let topics = values("topic")
        topic = topics.first
        guard topics.count <= 1 else { throw .invalidTopic }
        if let topic {
            guard Base64URL.isAlphabetic(topic), topic.utf8.count <= Limits.webPushTopicCharacters else {
                throw .invalidTopic
            }
        }
        wantsReceipt = values("prefer").contains { value in
            value.split(separator: ",").contains {
                $0.prefix { $0 != ";" }.trimmed.lowercased() == "respond-async"
            }
        }
        receipts = Self.receipts(values("link"))
        guard body.count <= Limits.webPushBytes else { throw .messageTooLarge }
        self.body = body
        message = Result { () throws(WebPushRejection) in try Self.message(body, values) }
        credentials = try VAPIDCredentials(authorization: values("authorization"), keys: values("crypto-key"))
    }

    /// The message for a browser.
    ///
    /// - Throws: a rejection if no browser can decrypt it.
    package func browserMessage() throws(WebPushRejection) -> WebPushMessage { try message.get() }

    /// The message for an app of UnifiedPush: the body as it came. `Content-Encoding` does not matter, because older
    /// apps agree with their servers about other encryption, or none (UnifiedPush DBUS_0.3.0, "Push message").
    ///
    /// - Throws: `emptyMessage`.
    package func appMessage() throws(WebPushRejection) -> [UInt8] {
        guard !body.isEmpty else { throw .emptyMessage }
        return body
    }

    /// When the message is no longer worth delivering.
    package func expiration(at now: Moment) -> Expiration {
        secondsToLive == 0 ? .nowOrNever : .at(now.advanced(byMilliseconds: secondsToLive * 1000))
    }

    /// Reads the only value of `TTL`. A longer time than the relay stores messages for is cut, and the answer says so
    /// (RFC 8030, section 5.2).
    private static func secondsToLive(_ values: [String]) throws(WebPushRejection) -> Int64 {
        guard let value = values.first else { throw .missingTTL }
        guard values.count == 1, !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw .invalidTTL
        }
        let most = Limits.storedDays * 24 * 60 * 60
        return min(Int64(value) ?? most, most)
    }

    /// Finds the target of the link with the relation of receipts (RFC 8288, section 3).
    private static func receipts(_ links: [String]) -> String? {
        for link in links.joined(separator: ",").split(separator: ",") {
            let parts = link.split(separator: ";")
            guard let target = parts.first?.trimmed, target.hasPrefix("<"), target.hasSuffix(">"),
                case let parameters = HeaderParameters(parts.dropFirst().joined(separator: ";")),
                parameters["rel"] == WebPushAcceptance.relation
            else { continue }
            return String(target.dropFirst().dropLast())
        }
        return nil
    }

    private static func message(
        _ body: [UInt8], _ values: (String) -> [String]
    ) throws(WebPushRejection) -> WebPushMessage {
        // A message without bytes only wakes the app.
        guard !body.isEmpty else { return WebPushMessage(nil, []) }
        let encodings = values("content-encoding")
        guard encodings.count == 1 else { throw .unknownEncoding }
        switch encodings[0].trimmed.lowercased() {
        case "aes128gcm": return WebPushMessage(.aes128gcm, body)
        case "aesgcm":
            let encryption = values("encryption").joined(separator: ",")
            let cryptoKey = values("crypto-key").joined(separator: ",")
            guard !encryption.isEmpty, !cryptoKey.isEmpty else { throw .missingEncryptionKeys }
            guard encryption.utf8.count <= Limits.webPushFieldBytes,
                cryptoKey.utf8.count <= Limits.webPushFieldBytes,
                HeaderParameters(encryption)["salt"].flatMap(Base64URL.bytes)?.isEmpty == false,
                HeaderParameters(cryptoKey)["dh"].flatMap(Base64URL.bytes)?.isEmpty == false
            else { throw .invalidEncryptionKeys }
            return WebPushMessage(.aesgcm(encryption: encryption, cryptoKey: cryptoKey), body)
        default: throw .unknownEncoding
        }
    }
}
