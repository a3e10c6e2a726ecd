import PostriderNotifications

/// A message of the device protocol or of the app socket, encoded as proto3 (docs/reference/courier.proto,
/// docs/reference/agent.proto).
///
/// Decoders ignore unknown fields, and take the last value of a field that occurs twice. Encoders leave out fields
/// that have their default value, and write the others in the order of their numbers.
public protocol CourierMessage: Hashable, Sendable {
    /// Decodes the message.
    init(decoding bytes: Span<UInt8>) throws(CourierError)

    /// Appends the encoded message.
    func encode(into output: inout [UInt8])
}

/// The gRPC methods. The raw value is the `:path` of their requests.
public enum CourierMethod: String, CaseIterable, Sendable {
    /// A unary call: ``EnrollRequest`` to ``EnrollResponse``.
    case enroll = "/postrider.courier.v1.Courier/Enroll"
    /// A bidirectional stream: ``DeviceMessage`` and ``RelayMessage``.
    case connect = "/postrider.courier.v1.Courier/Connect"
    /// A bidirectional stream on the app socket: ``AppMessage`` and ``AgentMessage``.
    case attach = "/postrider.agent.v1.Apps/Attach"
    /// A bidirectional stream on the app socket: ``KeyboardOrder`` and ``KeyboardAnswer``.
    case keyboard = "/postrider.agent.v1.InputMethods/Keyboard"

    /// Finds a method by the bytes of `:path`; nil if there is none with that name.
    public init?(path: Span<UInt8>) {
        for method in Self.allCases where path.spells(method.rawValue) {
            self = method
            return
        }
        return nil
    }
}
