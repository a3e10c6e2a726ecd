import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// How connections of strangers end, for the log. What a peer did wrong is told at level info, by its standard name and
/// with the peer's address; each kind once, then with the number of its repeats (``Notifications/RepeatFilter``).
/// Everything else is detail.
struct ConnectionEnds {
    /// Where the peers connect.
    enum Port: String, Sendable {
        case provider, device
    }

    let port: Port
    let log: Log
    /// Counts an end for the metrics.
    let count: (ConnectionEndKind) -> Void

    /// A connection has ended. That the relay is slow, or stops, is no fault of the peer's.
    func note(_ reason: CloseReason, of peer: Peer?) {
        count(ConnectionEndKind(reason))
        let (address, source) = (peer?.address ?? "an unknown address", peer?.source?.description)
        guard let fault = reason.fault else {
            return log.debug("\(port.rawValue) connection from \(address) ended: \(reason)")
        }
        let name = "\(reason)".contains(fault) ? "" : " (\(fault))"
        log.info(
            "\(port.rawValue) connection from \(address) ended: \(reason)\(name)",
            kind: "\(port) \(fault)", from: source)
    }

    /// A peer says why it ends the connection.
    func noteGoaway(_ errorCode: UInt32, _ debug: [UInt8], from peer: Peer?) {
        guard errorCode != ErrorCode.noError else { return }
        let name = ErrorCode.name(errorCode)
        let quoted = Self.quote(debug)
        let address = peer?.address ?? "an unknown address"
        log.info(
            "\(port.rawValue) at \(address) ends its connection with GOAWAY \(name)"
                + (quoted.isEmpty ? "" : ": \(quoted)"),
            kind: "\(port) GOAWAY \(name)", from: peer?.source?.description)
    }

    /// A connection was closed as soon as it was accepted.
    func noteRefusal(_ refusal: Refusal, of peer: Peer) {
        log.warning(
            "refused a connection from \(peer.address): \(refusal)", kind: "refused: \(refusal)",
            from: peer.source?.description)
    }

    /// An enrolment or a device is not let in.
    func noteRefusedDevice(_ what: String, _ reason: String, from peer: Peer?) {
        log.notice(
            "\(what) from \(peer?.address ?? "an unknown address") was refused: \(reason)",
            kind: "\(what): \(reason)", from: peer?.source?.description)
    }

    /// A device breaks the rules of its protocol, or is silent for too long.
    func noteBroken(_ sentence: String, by peer: Peer?, kind: String) {
        log.info(
            "the link of a device at \(peer?.address ?? "an unknown address") is ended: \(sentence)",
            kind: "device \(kind)", from: peer?.source?.description)
    }

    /// The beginning of what a peer says, without anything that could pass for another line of the log.
    static func quote(_ bytes: [UInt8]) -> String {
        String(
            decoding: bytes.prefix(Limits.quotedBytes).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F },
            as: UTF8.self)
    }
}
