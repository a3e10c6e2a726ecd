import PostriderTransport

/// How a connection ended, in metrics: one of a few values, whatever the peer did.
enum ConnectionEndKind: String, CaseIterable, Sendable {
    case localClose = "local_close"
    case peerClosed = "peer_closed"
    case peerReset = "peer_reset"
    case handshakeFailed = "handshake_failed"
    case notTLS = "not_tls"
    case noProxyHeader = "no_proxy_header"
    case handshakeTimeout = "handshake_timeout"
    case writeTimeout = "write_timeout"
    case outputNotTaken = "output_not_taken"
    case stalled
    case idleTimeout = "idle_timeout"
    case noApplicationProtocol = "no_application_protocol"
    case protocolError = "protocol_error"
    case internalError = "internal_error"
    case overloaded
    case loopStopped = "loop_stopped"
    /// For outgoing connections; a relay makes none.
    case notConnected = "not_connected"

    init(_ reason: CloseReason) {
        self =
            switch reason {
            case .localClose: .localClose
            case .peerClosed: .peerClosed
            case .peerReset: .peerReset
            case .refused, .proxyFailed, .connectTimeout: .notConnected
            case .handshakeFailed: .handshakeFailed
            case .notTLS: .notTLS
            case .notIntroduced: .noProxyHeader
            case .handshakeTimeout: .handshakeTimeout
            case .writeTimeout: .writeTimeout
            case .outputNotTaken: .outputNotTaken
            case .stalled: .stalled
            case .idleTimeout: .idleTimeout
            case .protocolNotNegotiated: .noApplicationProtocol
            case .protocolError: .protocolError
            case .internalError: .internalError
            case .overloaded: .overloaded
            case .loopStopped: .loopStopped
            }
    }
}
