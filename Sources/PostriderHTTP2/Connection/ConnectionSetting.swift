internal import CPostriderNghttp2

/// A parameter of a SETTINGS frame (RFC 9113, section 6.5.2) that may change while a connection is open.
public enum ConnectionSetting: CaseIterable, Sendable {
    /// The size in bytes of the HPACK table for the blocks that we receive: SETTINGS_HEADER_TABLE_SIZE.
    case headerTableSize
    /// The streams that the peer may have open: SETTINGS_MAX_CONCURRENT_STREAMS.
    case maxConcurrentStreams
    /// The bytes of one body that the peer may send before it is given more: SETTINGS_INITIAL_WINDOW_SIZE.
    case initialWindowSize
    /// The payload in bytes of the largest frame that we take: SETTINGS_MAX_FRAME_SIZE.
    case maxFrameSize
    /// The bytes of the largest header block that we take: SETTINGS_MAX_HEADER_LIST_SIZE. The peer is told, and the
    /// bound of ``SessionSettings/maxHeaderListBytes`` stays.
    case maxHeaderListSize

    var identifier: nghttp2_settings_id {
        switch self {
        case .headerTableSize: NGHTTP2_SETTINGS_HEADER_TABLE_SIZE
        case .maxConcurrentStreams: NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        case .initialWindowSize: NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE
        case .maxFrameSize: NGHTTP2_SETTINGS_MAX_FRAME_SIZE
        case .maxHeaderListSize: NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE
        }
    }
}

extension SessionSettings {
    /// The value with which a server's connection begins.
    func value(of setting: ConnectionSetting) -> UInt32 {
        switch setting {
        case .headerTableSize: headerTableSize
        case .maxConcurrentStreams: maxConcurrentStreams
        case .initialWindowSize: initialWindowSize
        case .maxFrameSize: maxFrameSize
        case .maxHeaderListSize: UInt32(maxHeaderListBytes)
        }
    }
}
