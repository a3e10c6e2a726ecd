/// The state of an HTTP/2 connection that does not depend on its engine: the open streams, the frames that are counted
/// against the peer, the peer's deadlines, and how the connection ends.
///
/// Owned by ``HTTP2Connection`` and used by its engine, on one thread at a time.
final class ConnectionState {
    let role: HTTP2Connection.Role
    let settings: SessionSettings
    let handler: HandlerReference
    var streams = OpenStreams()
    var flood: FloodAccounting
    var resets: RapidResetDetector
    var deadlines = PeerDeadlines()
    var pings = PingCount()
    /// Our own GOAWAY.
    var goaway = LocalGoaway.none
    /// Why the connection failed: a fault of the peer that we found, or an error of nghttp2 while sending.
    var failure: SessionError?
    /// The last stream of the peer whose header block the handler was given.
    var lastStream: Int32 = 0
    /// Whether more than ``SessionSettings/maxOutboundBytes`` bytes wait to be sent on one stream.
    var isOverfull = false
    /// Whether the owner has ended the connection: the handler is not called any more.
    var hasEnded = false

    init(role: HTTP2Connection.Role, settings: SessionSettings, handler: HandlerReference) {
        self.role = role
        self.settings = settings
        self.handler = handler
        flood = FloodAccounting(role: role)
        resets = RapidResetDetector(after: role == .server ? settings.judgedStreams : 0)
    }

    /// Whether nghttp2 itself failed: it must not be called again.
    var isBroken: Bool {
        if case .libraryFailure = failure { true } else { false }
    }

    /// Fails the connection. `debug` becomes the debug data of the GOAWAY; if it is nil, the error's own sentence does.
    func fail(_ error: SessionError, saying debug: String? = nil) {
        failure = error
        goaway = .waiting(errorCode: error.code, debug: Array((debug ?? error.reason).utf8))
    }

    /// Streams on which the peer has exceeded its time. Each stream is returned once.
    func takeStalledStreams(_ timeouts: Timeouts) -> [Int32] {
        guard role == .server, streams.hasAwaited else { return [] }
        var stalled: [Int32] = []
        for record in streams.all {
            let seconds = record.isAnswerStuck ? timeouts.answerSeconds : timeouts.bodySeconds
            guard record.isStalled, deadlines.moment - record.since > seconds else { continue }
            record.since = deadlines.moment
            stalled.append(record.id)
        }
        return stalled
    }

    /// Removes a closed stream and tells the handler.
    func close(_ record: StreamRecord, errorCode: UInt32) {
        let stream = record.id
        streams.remove(record)
        handler.lend { $0.closed(stream, errorCode: errorCode) }
    }
}

/// Our GOAWAY (RFC 9113, section 6.8). It is sent after all frames and bodies that were queued before it: aioapns and
/// Pushy drop the connection when they read a GOAWAY.
enum LocalGoaway {
    /// No GOAWAY was asked for.
    case none
    /// The GOAWAY is sent as soon as nothing else can be sent. It names the last stream that the handler was given, or
    /// `lastStream` if that is earlier.
    case waiting(errorCode: UInt32, debug: [UInt8], lastStream: Int32 = .max)
    /// The GOAWAY was sent, or is the next frame to be sent.
    case sent(errorCode: UInt32)

    var isWaiting: Bool { if case .waiting = self { true } else { false } }

    /// The error code of the GOAWAY; NO_ERROR if there is none.
    var errorCode: UInt32 {
        switch self {
        case .none: ErrorCode.noError
        case .waiting(let errorCode, _, _), .sent(let errorCode): errorCode
        }
    }

    /// Returns a waiting GOAWAY and marks it as sent; nil if none waits.
    mutating func take() -> (errorCode: UInt32, debug: [UInt8], lastStream: Int32)? {
        guard case .waiting(let errorCode, let debug, let lastStream) = self else { return nil }
        self = .sent(errorCode: errorCode)
        return (errorCode, debug, lastStream)
    }
}
