import PostriderNotifications

/// A message of the device protocol or of the app socket: proto3 on the wire (docs/reference/courier.proto,
/// docs/reference/agent.proto), a value here.
///
/// Decoders pass over fields that they do not know and take the last of a field that comes twice; encoders
/// leave out fields that have their default, and write the others in the order of their numbers.
public protocol CourierMessage: Hashable, Sendable {
    /// The message that these bytes are.
    init(decoding bytes: Span<UInt8>) throws(CourierError)

    /// Appends the message.
    func encode(into output: inout [UInt8])
}

/// The gRPC methods, by the `:path` of their requests.
public enum CourierMethod: String, CaseIterable, Sendable {
    /// Unary: ``EnrollRequest`` to ``EnrollResponse``.
    case enroll = "/postrider.courier.v1.Courier/Enroll"
    /// A stream each way: ``DeviceMessage`` and ``RelayMessage``.
    case connect = "/postrider.courier.v1.Courier/Connect"
    /// A stream each way, on the app socket: ``AppMessage`` and ``AgentMessage``.
    case attach = "/postrider.agent.v1.Apps/Attach"
    /// A stream each way, on the app socket: ``KeyboardOrder`` and ``KeyboardAnswer``.
    case keyboard = "/postrider.agent.v1.InputMethods/Keyboard"

    /// A method from the bytes of `:path`, or nil when there is none of that name.
    public init?(path: Span<UInt8>) {
        for method in Self.allCases where path.spells(method.rawValue) {
            self = method
            return
        }
        return nil
    }
}
