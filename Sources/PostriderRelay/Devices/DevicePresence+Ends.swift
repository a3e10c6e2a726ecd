import PostriderCourier
import PostriderNotifications
import PostriderTransport

extension DevicePresence.Ending {
    /// The ending for the end of a connection on which neither side has said goodbye.
    init(_ reason: CloseReason) {
        switch reason {
        case .localClose, .loopStopped, .internalError: self = .relayStopped
        case .overloaded: self = .overloaded
        case .peerClosed: self = .closed
        case .idleTimeout: self = .silent
        case .writeTimeout, .outputNotTaken, .stalled: self = .notTaken
        case .protocolError, .notTLS, .notIntroduced, .protocolNotNegotiated: self = .protocolError
        case .peerReset, .refused, .proxyFailed, .connectTimeout, .handshakeFailed, .handshakeTimeout:
            self = .cut
        }
    }

    /// The ending for a goodbye of the relay.
    init?(ofRelay reason: Goodbye.Reason) {
        switch reason {
        case .shutdown: self = .relayStopped
        case .replaced, .duplicated: self = .replaced
        case .removed: self = .removed
        case .overloaded: self = .overloaded
        case .protocolError: self = .protocolError
        case .unspecified, .asleep: return nil
        }
    }
}
