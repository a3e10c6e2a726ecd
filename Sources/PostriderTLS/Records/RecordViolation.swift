internal import PostriderCrypto

/// Why a stream must end: the alert to send, and the end of a sentence for the log.
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

        /// Whether the alert ends the stream in order.
        var isWarning: Bool { self == .closeNotify }
    }

    /// The alert to send; nil if the peer has ended the stream with an alert of its own.
    let alert: Alert?
    /// What happened, with the standard name of the alert, ours or the peer's.
    let sentence: String

    /// The standard name of the alert, ours or the peer's.
    let name: String

    /// The error for a failed OpenSSL call that fails only if memory is short or the library is broken. It ends only
    /// this stream.
    static func failedCall(_ name: String) -> RecordViolation {
        RecordViolation(.internalError, "OpenSSL's \(name) failed (\(ErrorQueue.takeReason()))")
    }

    /// Whether this side is at fault.
    var isOurs: Bool { alert == .internalError }

    /// Creates the error for a broken rule of TLS; the peer gets this alert.
    init(_ alert: Alert, _ sentence: String) {
        self.alert = alert
        name = TLSAlert.name(of: alert.rawValue)
        self.sentence = "\(sentence) (\(name))"
    }

    /// Creates the error for a fatal alert that the peer sent.
    init(receivedAlert number: UInt8) {
        alert = nil
        name = TLSAlert.name(of: number)
        sentence = "the peer ended the connection with the alert \(name)"
    }
}
