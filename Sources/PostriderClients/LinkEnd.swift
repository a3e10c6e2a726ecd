public import PostriderCourier
public import PostriderTransport

/// Why a device's link ended, or never came about.
public enum LinkEnd: Sendable, Equatable, CustomStringConvertible {
    /// There is no connection, or it broke.
    case connection(CloseReason)
    /// The relay said goodbye.
    case goodbye(Goodbye)
    /// The relay ended the stream without goodbye.
    case status(GRPCStatus, String)
    /// The relay broke the device protocol.
    case protocolError(CourierError)

    /// Whether the relay does not know the identity, or its secret is wrong: only a new enrolment helps.
    public var isUnknownDevice: Bool {
        switch self {
        case .goodbye(let goodbye): goodbye.reason == .removed
        case .status(let status, _): status == .unauthenticated
        case .connection, .protocolError: false
        }
    }

    /// Whether another connection of the identity has taken this one's place, or keeps it.
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

    /// Milliseconds before which the relay does not want to see the device; 0: it did not say.
    var retryAfterMilliseconds: UInt32 {
        if case .goodbye(let goodbye) = self { goodbye.retryAfterMilliseconds } else { 0 }
    }

    /// One phrase for logs.
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
    /// A sentence of the relay's, for one of ours to go on behind it.
    var withoutFullStop: Substring { dropLast(hasSuffix(".") ? 1 : 0) }
}
