import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// Logs how connections of strangers end. A fault of the peer is logged at level info, with its standard name and the
/// peer's address; each kind once, then with the number of repeats (``Notifications/RepeatFilter``). Everything else is
/// for debugging.
struct ConnectionEnds {
    /// The port that the peer has connected to.
    enum Port: String, Sendable {
        case provider, device, console, web
    }

    let port: Port
    let log: Log
    /// Counts an end for the metrics.
    let count: (ConnectionEndKind) -> Void

    /// A connection has ended. It is not the peer's fault if the relay is slow or stops.
    func note(_ reason: CloseReason, of peer: Peer?) {
        count(ConnectionEndKind(reason))
        let (address, source) = (peer?.address ?? "an unknown address", peer?.source?.description)
        guard let fault = reason.fault else {
            return log.debug(
                "\(port.rawValue) connection from \(address) ended: \(reason)",
                fields: .init(connection: peer?.address, reason: "\(reason)"))
        }
        let name = "\(reason)".contains(fault) ? "" : " (\(fault))"
        log.info(
            "\(port.rawValue) connection from \(address) ended: \(reason)\(name)",
            kind: "\(port) \(fault)", from: source, fields: .init(connection: peer?.address, reason: fault))
    }

    /// A peer has sent a GOAWAY with a reason.
    func noteGoaway(_ errorCode: UInt32, _ debug: [UInt8], from peer: Peer?) {
        guard errorCode != ErrorCode.noError else { return }
        let name = ErrorCode.name(errorCode)
        let quoted = Self.quote(debug)
        let address = peer?.address ?? "an unknown address"
        log.info(
            "\(port.rawValue) at \(address) ends its connection with GOAWAY \(name)"
                + (quoted.isEmpty ? "" : ": \(quoted)"),
            kind: "\(port) GOAWAY \(name)", from: peer?.source?.description,
            fields: .init(connection: peer?.address, reason: name))
    }

    /// A connection was closed as soon as it was accepted.
    func noteRefusal(_ refusal: Refusal, of peer: Peer) {
        log.warning(
            "refused a connection from \(peer.address): \(refusal)", kind: "refused: \(refusal)",
            from: peer.source?.description,
            fields: .init(connection: peer.address, reason: "\(refusal)"))
    }

    /// An enrolment or a device was refused.
    func noteRefusedDevice(_ what: String, _ reason: String, from peer: Peer?) {
        log.notice(
            "\(what) from \(peer?.address ?? "an unknown address") was refused: \(reason)",
            kind: "\(what): \(reason)", from: peer?.source?.description,
            fields: .init(connection: peer?.address, reason: reason))
    }

    /// A device has violated its protocol, or was silent for too long.
    func noteBroken(_ sentence: String, by peer: Peer?, kind: String) {
        log.info(
            "the link of the device at \(peer?.address ?? "an unknown address") was ended: \(sentence)",
            kind: "device \(kind)", from: peer?.source?.description,
            fields: .init(connection: peer?.address, reason: kind))
    }

    /// The beginning of what a peer sent, without characters that could forge a line of the log.
    static func quote(_ bytes: [UInt8]) -> String {
        String(
            decoding: bytes.prefix(Limits.quotedBytes).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F },
            as: UTF8.self)
    }
}
