public import PostriderCourier
public import PostriderTransport

/// Why a device's link ended, or could not be established.
public enum LinkEnd: Sendable, Equatable, CustomStringConvertible {
    /// The connection could not be established, or broke.
    case connection(CloseReason)
    /// The relay said goodbye.
    case goodbye(Goodbye)
    /// The relay ended the stream without a goodbye.
    case status(GRPCStatus, String)
    /// The relay broke the device protocol.
    case protocolError(CourierError)

    /// Whether the relay does not know the identity, or the secret is wrong. The device must enrol again.
    public var isUnknownDevice: Bool {
        switch self {
        case .goodbye(let goodbye): goodbye.reason == .removed
        case .status(let status, _): status == .unauthenticated
        case .connection, .protocolError: false
        }
    }

    /// Whether another connection of the identity has replaced this one, or was preferred.
    public var isReplacement: Bool {
        if case .goodbye(let goodbye) = self {
            goodbye.reason == .replaced || goodbye.reason == .duplicated
        } else {
            false
        }
    }

    /// Whether the relay is certain that another machine uses the identity.
    public var isDuplicate: Bool {
        if case .goodbye(let goodbye) = self { goodbye.reason == .duplicated } else { false }
    }

    /// The milliseconds for which the relay asks the device to wait; 0 if it did not.
    var retryAfterMilliseconds: UInt32 {
        if case .goodbye(let goodbye) = self { goodbye.retryAfterMilliseconds } else { 0 }
    }

    /// One phrase that logs print.
    public var description: String {
        switch self {
        case .connection(let reason): "\(reason)"
        case .goodbye(let goodbye):
            "the relay said goodbye (\(goodbye.reason))"
                + (goodbye.detail.isEmpty ? "" : ": \(goodbye.detail.withoutFullStop)")
        case .status(let status, let message):
            "the relay ended the link (\(status))" + (message.isEmpty ? "" : ": \(message.withoutFullStop)")
        case .protocolError(let error): "the relay broke the device protocol: \(error)"
        }
    }
}

extension String {
    /// A sentence of the relay without its full stop, so that ours can continue it.
    var withoutFullStop: Substring { dropLast(hasSuffix(".") ? 1 : 0) }
}
