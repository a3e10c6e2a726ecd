internal import PostriderCrypto

/// Why the records of a stream cannot go on: the alert that ends it, and the end of a sentence for the log.
struct RecordViolation: Error, Equatable {
    /// The alerts that we send (RFC 8446, section 6).
    enum Alert: UInt8 {
        case closeNotify = 0
        case unexpectedMessage = 10
        case badRecordMAC = 20
        case recordOverflow = 22
        case illegalParameter = 47
        case decodeError = 50
        case internalError = 80

        /// Whether the stream ends in order.
        var isWarning: Bool { self == .closeNotify }
    }

    /// The alert to send; nil if the peer has ended the stream with an alert of its own.
    let alert: Alert?
    /// What happened, with the standard name of the alert, ours or the peer's.
    let sentence: String

    /// The standard name of the alert, ours or the peer's.
    let name: String

    /// A call of OpenSSL failed that fails only where memory is short, or the library is broken. It ends this stream
    /// alone.
    static func failedCall(_ name: String) -> RecordViolation {
        RecordViolation(.internalError, "OpenSSL's \(name) failed (\(ErrorQueue.takeReason()))")
    }

    /// Whether the peer is not at fault.
    var isOurs: Bool { alert == .internalError }

    /// A rule of TLS was broken, and the peer gets this alert.
    init(_ alert: Alert, _ sentence: String) {
        self.alert = alert
        name = TLSAlert.name(of: alert.rawValue)
        self.sentence = "\(sentence) (\(name))"
    }

    /// The peer sent a fatal alert.
    init(receivedAlert number: UInt8) {
        alert = nil
        name = TLSAlert.name(of: number)
        sentence = "the peer ended the connection with the alert \(name)"
    }
}
