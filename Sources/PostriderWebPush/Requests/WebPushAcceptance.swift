internal import PostriderNotifications

/// The answer to a request that was accepted.
package struct WebPushAcceptance: Equatable, Sendable {
    /// The status: 202 if a receipt will come, 201 otherwise.
    package var status: Int { receipt == nil ? 201 : 202 }
    /// The URL of the message, with which its sender can remove it.
    package let location: String
    /// The URL at which the receipt can be asked for; nil if the sender wants none.
    package let receipt: String?
    /// Seconds for which the message is stored.
    package let secondsToLive: Int64

    /// The relation of links to receipt subscriptions (RFC 8030, section 11.3).
    static let relation = "urn:ietf:params:push:receipt"

    /// Creates an answer from its parts.
    package init(location: String, receipt: String?, secondsToLive: Int64) {
        self.location = location
        self.receipt = receipt
        self.secondsToLive = secondsToLive
    }

    /// The header fields, without those of CORS. A `Link` has the relation of RFC 8030, section 5.1.
    package var fields: [(name: String, value: String)] {
        var fields = [("location", location), ("ttl", "\(secondsToLive)")]
        if let receipt { fields.append(("link", "<\(receipt)>; rel=\"\(Self.relation)\"")) }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}

/// The header fields with which pages of any origin may send messages, as browsers' push services have them (the Fetch
/// standard, *CORS protocol*).
package enum CORS {
    /// The fields of every answer.
    package static let fields: [(name: String, value: String)] = [
        (name: "access-control-allow-origin", value: "*"),
        (
            name: "access-control-expose-headers",
            value: "location, link, ttl, www-authenticate, retry-after"
        ),
    ]

    /// The fields of an answer to `OPTIONS`, whose status is 204.
    ///
    /// - Parameter methods: the methods of the address, separated by commas.
    package static func preflight(methods: String) -> [(name: String, value: String)] {
        fields + [
            (name: "access-control-allow-methods", value: methods),
            (
                name: "access-control-allow-headers",
                value:
                    "authorization, content-encoding, content-type, crypto-key, encryption, link, prefer, "
                    + "topic, ttl, urgency"
            ),
            (name: "access-control-max-age", value: "\(Limits.corsSeconds)"),
        ]
    }
}
