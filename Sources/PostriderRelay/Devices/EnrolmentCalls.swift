import PostriderCourier
import PostriderNotifications

/// The calls of `Enroll` on one connection.
struct EnrolmentCalls {
    /// How far a call has come.
    enum Call {
        /// The request is still arriving.
        case receiving(MessageFraming)
        /// The home makes the device durable; the answer will contain this secret.
        case storing(secret: [UInt8])
    }

    private var calls: [Int32: Call] = [:]

    var isEmpty: Bool { calls.isEmpty }

    /// Whether an enrolment waits for the answer of its home.
    var awaitsHome: Bool { calls.values.contains { if case .storing = $0 { true } else { false } } }

    /// A call begins.
    mutating func begin(_ stream: Int32) {
        calls[stream] = .receiving(MessageFraming(maxMessageBytes: Limits.deviceMessageBytes))
    }

    /// Takes bytes of a request. Returns false if it is longer than a message may be; then it is forgotten.
    mutating func receive(_ bytes: Span<UInt8>, on stream: Int32) -> Bool {
        guard case .receiving(var framing) = calls.removeValue(forKey: stream) else { return true }
        framing.feed(bytes)
        // Messages are only taken out at the end of the request.
        guard framing.waitingByteCount <= MessageFraming.prefixByteCount + Limits.deviceMessageBytes else {
            return false
        }
        calls[stream] = .receiving(framing)
        return true
    }

    /// Returns the framing of a complete request; nil if there is no such call.
    mutating func end(_ stream: Int32) -> MessageFraming? {
        guard case .receiving(let framing) = calls[stream] else { return nil }
        return framing
    }

    /// The request was sent to the home; the answer will contain this secret.
    mutating func beginStoring(_ stream: Int32, secret: [UInt8]) { calls[stream] = .storing(secret: secret) }

    /// Removes and returns the secret for an answer; nil if nobody waits for it.
    mutating func takeSecret(of stream: Int32) -> [UInt8]? {
        guard case .storing(let secret) = calls[stream] else { return nil }
        calls[stream] = nil
        return secret
    }

    /// The stream is answered or closed.
    mutating func forget(_ stream: Int32) { calls[stream] = nil }

    /// Removes and returns all calls, ordered by stream.
    mutating func takeAll() -> [(stream: Int32, call: Call)] {
        defer { calls = [:] }
        return calls.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
