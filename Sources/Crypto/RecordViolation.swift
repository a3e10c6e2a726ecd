/// Why a stream cannot go on: what the peer is told, and the end of a sentence for the log.
struct RecordViolation: Error, Equatable {
    /// The alerts that we send (RFC 8446, 6).
    enum Alert: UInt8 {
        case closeNotify = 0
        case unexpectedMessage = 10
        case badRecordMAC = 20
        case recordOverflow = 22
        case decodeError = 50

        /// Whether the stream ends in order.
        var isWarning: Bool { self == .closeNotify }
    }

    /// Nil: the peer ended the stream itself.
    let alert: Alert?
    let sentence: String

    init(_ alert: Alert?, _ sentence: String) {
        self.alert = alert
        self.sentence = sentence
    }
}
