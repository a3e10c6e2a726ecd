internal import PostriderJSON
internal import PostriderNotifications

/// A message of a device in the autopush protocol: JSON text over WebSocket.
///
/// The protocol is the one that Firefox speaks with Mozilla's push service, and KUnifiedPush with any. Members that
/// are not named here are ignored.
package enum AutopushRequest: Equatable, Sendable {
    /// The first message. A device that was here before presents the identity that it was given then.
    case hello(identity: String?)
    /// Subscribes: the device has drawn a UUID for the channel, and may name the only key that may send to it.
    case register(channel: String, key: VAPIDKey?)
    /// Subscribes with a text that is not a key. The device got it from a page, so the page made the mistake.
    case registerWithInvalidKey(channel: String)
    /// Removes a subscription.
    case unregister(channel: String)
    /// Settles notifications.
    case acknowledge([Acknowledgement])
    /// Says that a notification could not be used.
    case reject(version: String)
    /// Subscribes to broadcasts, of which this service has none.
    case broadcastSubscribe
    /// Asks whether the connection works.
    case ping

    /// What became of one notification.
    package struct Acknowledgement: Equatable, Sendable {
        /// The version of the notification, which the service has chosen.
        package let version: String
        /// The code: 100 if the app has it, 101 if the device could not decrypt it, 102 if the app failed.
        package let code: Int64

        /// Creates an acknowledgement.
        package init(version: String, code: Int64 = 100) {
            self.version = version
            self.code = code
        }
    }

    /// Why a message cannot be read.
    package enum Flaw: Error, Equatable, Sendable {
        /// It is no JSON object.
        case notJSON
        /// Its `messageType` is missing or unknown.
        case unknownType
        /// A member is missing, or has a value of another type or form.
        case invalidMember(String)
    }

    /// Reads a message.
    package init(_ text: Span<UInt8>) throws(Flaw) {
        guard let members = JSONValue.members(ofObject: text) else { throw .notJSON }
        switch members["messageType"]?.string {
        case "hello": self = .hello(identity: try Self.identity(members))
        case "register": self = try Self.registration(members)
        case "unregister": self = .unregister(channel: try Self.channel(members))
        case "ack": self = .acknowledge(try Self.acknowledgements(members))
        case "nack": self = .reject(version: try Self.version(members))
        case "broadcast_subscribe": self = .broadcastSubscribe
        case "ping": self = .ping
        // Firefox's ping is an empty object.
        case nil where members.isEmpty: self = .ping
        default: throw .unknownType
        }
    }

    private static func identity(_ members: [String: JSONValue]) throws(Flaw) -> String? {
        if members["use_webpush"] == .boolean(false) { throw .invalidMember("use_webpush") }
        switch members["uaid"] {
        case nil, .null, .string(""): return nil
        case .string(let text):
            guard text.utf8.count <= Limits.autopushIdentityBytes, Base64URL.isAlphabetic(text) else {
                throw .invalidMember("uaid")
            }
            return text
        default: throw .invalidMember("uaid")
        }
    }

    /// The channel's UUID, in the spelling of the device, which compares texts.
    private static func channel(_ members: [String: JSONValue]) throws(Flaw) -> String {
        guard let text = members["channelID"]?.string, NotificationIdentity(text) != nil else {
            throw .invalidMember("channelID")
        }
        return text
    }

    private static func registration(_ members: [String: JSONValue]) throws(Flaw) -> AutopushRequest {
        let channel = try channel(members)
        switch members["key"] {
        case nil, .null: return .register(channel: channel, key: nil)
        case .string(let text):
            guard let key = VAPIDKey(text: text) else { return .registerWithInvalidKey(channel: channel) }
            return .register(channel: channel, key: key)
        default: throw .invalidMember("key")
        }
    }

    private static func acknowledgements(_ members: [String: JSONValue]) throws(Flaw) -> [Acknowledgement] {
        guard case .array(let updates) = members["updates"], updates.count <= Limits.autopushAcknowledgements
        else { throw .invalidMember("updates") }
        var acknowledgements: [Acknowledgement] = []
        for update in updates {
            guard let members = update.object else { throw .invalidMember("updates") }
            let code = members["code"] ?? .integer(100)
            guard let code = code.wholeNumber else { throw .invalidMember("code") }
            acknowledgements.append(Acknowledgement(version: try version(members), code: code))
        }
        return acknowledgements
    }

    private static func version(_ members: [String: JSONValue]) throws(Flaw) -> String {
        guard let text = members["version"]?.string, text.utf8.count <= Limits.autopushVersionBytes else {
            throw .invalidMember("version")
        }
        return text
    }
}
