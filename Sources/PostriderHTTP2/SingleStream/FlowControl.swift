/// The windows of a connection and of its one stream (RFC 9113, section 5.2), in bytes.
enum FlowControl {
    /// How many bytes we may still send.
    struct Send {
        var connection: Int
        var stream: Int
        /// The peer's SETTINGS_INITIAL_WINDOW_SIZE: a change of it changes the stream's window (section 6.9.2).
        var initial: Int
    }

    /// How many bytes we have received and not given back with WINDOW_UPDATE, and how large the windows are.
    struct Receive {
        var connection: Int
        var stream: Int
        var connectionWindow: Int
        var streamWindow: Int
    }

    /// The largest window that there may be (section 6.9.1).
    static let largestWindow = Int(Int32.max)
}
