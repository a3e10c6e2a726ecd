/// Why the service closes a session: the code and the reason of the WebSocket's close frame (RFC 6455, section 7.4).
package struct AutopushClose: Equatable, Sendable {
    /// The code.
    package let code: UInt16
    /// A few words for people, at most 123 bytes.
    package let reason: String

    private init(_ code: UInt16, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The relay stops, or moves the session.
    package static let goingAway = AutopushClose(1001, "the relay is going away")
    /// A message cannot be read.
    package static let notJSON = AutopushClose(1007, "the message is no JSON object")
    /// The same device has connected again.
    package static let replaced = AutopushClose(1008, "the device has another connection")
    /// The device sends too much.
    package static let tooManyMessages = AutopushClose(1008, "there were too many messages")
    /// The first message was not a hello, or it was not the only one.
    package static let unexpected = AutopushClose(1008, "the message was not expected here")
    /// No hello came in time.
    package static let noHello = AutopushClose(1008, "there was no hello in time")
    /// The type of a message is unknown.
    package static let unknownType = AutopushClose(1008, "the messageType is unknown")
    /// The relay cannot serve the device now.
    package static let tryAgainLater = AutopushClose(1013, "the relay cannot serve the device now")

    /// A member of a message is missing or invalid.
    package static func invalidMember(_ name: String) -> AutopushClose {
        AutopushClose(1008, "\(name) is missing or invalid")
    }
}
