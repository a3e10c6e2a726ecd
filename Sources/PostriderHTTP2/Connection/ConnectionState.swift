/// What an HTTP/2 connection knows whichever engine carries its frames: its open streams, what is counted against the
/// peer, what the peer owes, and how the connection ends.
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
    /// Why the connection failed: our verdict on the peer or, found out while sending, nghttp2's.
    var failure: SessionError?
    /// The last stream of the peer whose header block the handler was given.
    var lastStream: Int32 = 0
    /// Whether more than ``SessionSettings/maxOutboundBytes`` waits on one stream.
    var isOverfull = false
    /// Whether the owner has ended the connection: the handler hears of nothing more.
    var hasEnded = false

    init(role: HTTP2Connection.Role, settings: SessionSettings, handler: HandlerReference) {
        self.role = role
        self.settings = settings
        self.handler = handler
        flood = FloodAccounting(role: role)
        resets = RapidResetDetector(after: role == .server ? settings.judgedStreams : 0)
    }

    /// Whether the library itself failed: it must not be entered again.
    var isBroken: Bool {
        if case .libraryFailure = failure { true } else { false }
    }

    /// Fails the connection. Its GOAWAY says why: in the error's words, if there are no better ones.
    func fail(_ error: SessionError, saying debug: String? = nil) {
        failure = error
        goaway = .waiting(errorCode: error.code, debug: Array((debug ?? error.reason).utf8))
    }

    /// Streams on which the peer has kept us waiting for too long: each is told once in that time.
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

    /// Removes a stream that is closed, and tells the handler.
    func close(_ record: StreamRecord, errorCode: UInt32) {
        let stream = record.id
        streams.remove(record)
        handler.lend { $0.closed(stream, errorCode: errorCode) }
    }
}

/// Our GOAWAY (RFC 9113, section 6.8). It leaves after everything that was said before, bodies included: aioapns and
/// Pushy drop the connection when they see it.
enum LocalGoaway {
    /// There is none.
    case none
    /// It leaves when nothing else can be sent any more.
    case waiting(errorCode: UInt32, debug: [UInt8])
    /// It was sent, or is the next frame to be sent.
    case sent(errorCode: UInt32)

    var isWaiting: Bool { if case .waiting = self { true } else { false } }

    /// NO_ERROR if there is none.
    var errorCode: UInt32 {
        switch self {
        case .none: ErrorCode.noError
        case .waiting(let errorCode, _), .sent(let errorCode): errorCode
        }
    }

    /// The frame that waits, which is sent now; nil if none waits.
    mutating func take() -> (errorCode: UInt32, debug: [UInt8])? {
        guard case .waiting(let errorCode, let debug) = self else { return nil }
        self = .sent(errorCode: errorCode)
        return (errorCode, debug)
    }
}
