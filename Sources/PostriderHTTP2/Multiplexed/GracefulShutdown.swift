/// A graceful shutdown (RFC 9113, section 6.8): every stream that the peer has begun is answered.
///
/// A peer begins streams until it reads a GOAWAY, and some drop the connection as soon as they read one (aioapns). So
/// the server goes on answering, and sends in turn:
///
/// 1. PING, until a round trip passes in which no stream is open and none is begun;
/// 2. PING, and a GOAWAY with the largest stream number there is: the peer shall begin no more. Both are sent together,
///    so when the acknowledgement arrives, the streams that the peer began before it read the GOAWAY have arrived.
///    nghttp2 sends the PING first, as it should be: after a GOAWAY hyper-h2 treats any frame as an error. But a peer
///    with several threads can begin a stream between the two, so this step also lasts while streams are open;
/// 3. GOAWAY with the last stream, as ``HTTP2Connection/goaway(errorCode:debug:)`` does. The connection is finished
///    once that stream and those before it are closed.
struct GracefulShutdown {
    /// What the connection does next.
    enum Action {
        case ping
        /// Send the GOAWAY with the largest stream number, and PING.
        case announce
        /// Send the last GOAWAY: the shutdown is over.
        case goaway
    }

    /// A PING that is under way, and the peer's last stream when it was sent.
    struct RoundTrip {
        let ping: Int
        let lastStream: Int32
    }

    private enum Step {
        /// Waits for a round trip in which the peer begins no stream; nil if no PING is under way.
        case settling(RoundTrip?)
        /// The first GOAWAY is sent when everything else has been.
        case announcing
        /// The first GOAWAY and this PING are under way.
        case confirming(ping: Int)
    }

    /// The debug data of both GOAWAYs.
    let debug: [UInt8]
    private var step: Step
    /// The connection's tick at which the step began.
    private var since: Int
    /// Whether the peer has taken too long for the step.
    private var isLate = false

    /// The largest stream number (RFC 9113, section 5.1.1).
    static let allStreams = UInt32(Int32.max)

    /// - Parameter settles: whether to wait for a silent round trip first.
    init(debug: [UInt8], settles: Bool, at moment: Int) {
        self.debug = debug
        step = settles ? .settling(nil) : .announcing
        since = moment
    }

    /// Whether it is time for the next step.
    func isDue(_ pings: PingCount, openStreams: Int) -> Bool {
        switch step {
        case .settling(let round):
            isLate || openStreams == 0 && (round.map { pings.isAcknowledged($0.ping) } ?? true)
        case .announcing: true
        case .confirming(let ping): isLate || openStreams == 0 && pings.isAcknowledged(ping)
        }
    }

    /// Takes the next step. The caller makes sure that it is due and that everything else has been sent.
    mutating func advance(_ pings: PingCount, lastStream: Int32, at moment: Int) -> Action {
        switch step {
        case .settling(let round):
            if isLate || round?.lastStream == lastStream {
                begin(.announcing, at: moment)
                return announce(pings, at: moment)
            }
            // The step is repeated, and its timeout goes on.
            step = .settling(RoundTrip(ping: pings.next, lastStream: lastStream))
            return .ping
        case .announcing: return announce(pings, at: moment)
        case .confirming: return .goaway
        }
    }

    /// Counts another second.
    mutating func tick(at moment: Int, _ timeouts: Timeouts) {
        let seconds = if case .settling = step { timeouts.settlingSeconds } else { timeouts.goodbyeSeconds }
        if moment - since > seconds { isLate = true }
    }

    private mutating func announce(_ pings: PingCount, at moment: Int) -> Action {
        begin(.confirming(ping: pings.next), at: moment)
        return .announce
    }

    private mutating func begin(_ step: Step, at moment: Int) {
        self.step = step
        since = moment
        isLate = false
    }
}

/// The PINGs of a connection. A peer acknowledges them in their order (RFC 9113, section 6.7).
struct PingCount {
    private var sent = 0
    private var acknowledged = 0

    /// The number of the PING that is sent next.
    var next: Int { sent + 1 }

    mutating func pingSent() { sent += 1 }
    mutating func pingAcknowledged() { acknowledged += 1 }

    func isAcknowledged(_ ping: Int) -> Bool { acknowledged >= ping }
}
