/// The PINGs of one connection that the peer has not acknowledged. It acknowledges them in their order (RFC 9113,
/// section 6.7).
struct OpenPings {
    /// Why a PING was sent.
    enum Purpose {
        /// To find out whether the connection is alive.
        case keepalive
        /// To find out whether the peer has received what was sent before.
        case confirmation
    }

    private var purposes: [Purpose] = []

    /// A PING is sent.
    mutating func sent(_ purpose: Purpose) { purposes.append(purpose) }

    /// The peer has acknowledged a PING. Returns its purpose; nil if none was open.
    mutating func answered() -> Purpose? { purposes.isEmpty ? nil : purposes.removeFirst() }
}
