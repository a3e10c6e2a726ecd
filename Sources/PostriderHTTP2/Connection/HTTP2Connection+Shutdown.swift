import CPostriderNghttp2

/// The end of a connection in good order (RFC 9113, section 6.8): every stream that the peer has begun is answered.
///
/// A peer begins streams until it has read a GOAWAY, and some drop the connection when they read one (aioapns). So the
/// server goes on answering, and says in turn:
///
/// 1. PING, until a round trip goes by in which no stream is open and none is begun;
/// 2. PING, and GOAWAY that names the largest stream number there is: nothing is to be begun any more. They leave
///    together, so that with the acknowledgement everything has come that was begun before the peer read the GOAWAY.
///    The library says PING first. That is as it should be: after a GOAWAY hyper-h2 takes any frame for an error;
/// 3. GOAWAY that names the last stream, as ``goaway(errorCode:debug:)`` does. The session is finished once that
///    stream, and those before it, are closed.
struct Shutdown {
    enum Step {
        /// Waits for the peer to be silent: `ping` is the PING that is under way and `lastStream` the last stream at
        /// that moment; nil: none is under way.
        case settling((ping: Int, lastStream: Int32)?)
        /// The first GOAWAY leaves when all else is sent.
        case announcing
        /// It is under way, and this PING with it.
        case confirming(ping: Int)
    }

    /// The debug data of both GOAWAYs.
    let debug: [UInt8]
    var step: Step
    /// The session's moment at which the step began.
    var since: Int
    /// Whether the peer has taken too long for the step.
    var isLate = false

    /// The largest number of a stream.
    static let allStreams = UInt32(Int32.max)
}

extension HTTP2Connection {
    /// Ends the connection without losing a stream that the peer has begun; see ``Shutdown``. The owner goes on
    /// answering, until ``isFinished``. A peer that does not acknowledge is waited for as long as ``Timeouts`` has it.
    ///
    /// - Parameters:
    ///   - debug: the debug data of both GOAWAYs.
    ///   - settles: whether to wait first until the peer has been silent for a round trip. A peer that has a queue of
    ///     its own gets an answer to each request in it.
    public func shutDown(debug: [UInt8], settles: Bool) {
        precondition(role == .server, "a client knows which streams it has begun")
        guard shutdown == nil, farewell == nil, failure == nil, !hasEnded else { return }
        // A lean session refuses whatever is begun, so that it may be repeated.
        guard lean == nil else { return goaway(debug: debug) }
        shutdown = Shutdown(debug: debug, step: settles ? .settling(nil) : .announcing, since: moment)
    }

    /// Whether ``advanceShutdown()`` would do something.
    var isShutdownStepDue: Bool {
        guard let shutdown, failure == nil else { return false }
        switch shutdown.step {
        case .settling(let round):
            return shutdown.isLate || streamCount == 0 && (round.map { isAcknowledged($0.ping) } ?? true)
        case .announcing: return true
        case .confirming(let ping): return shutdown.isLate || isAcknowledged(ping)
        }
    }

    private func isAcknowledged(_ ping: Int) -> Bool { pingsAcknowledged >= ping }

    /// Takes the next step if it is time. To be called when everything else has been sent. False: there was none.
    func advanceShutdown() -> Bool {
        guard isShutdownStepDue, let shutdown else { return false }
        switch shutdown.step {
        case .settling(let round):
            if shutdown.isLate || round.map({ $0.lastStream == lastStream }) == true {
                begin(.announcing)
            } else {
                ping()
                // The step goes on, and with it the time that the peer has.
                self.shutdown?.step = .settling((pingsSent, lastStream))
            }
        case .announcing:
            unsafe nghttp2_submit_shutdown_notice(raw)
            ping()
            begin(.confirming(ping: pingsSent))
        case .confirming:
            goaway(debug: shutdown.debug)
            self.shutdown = nil
        }
        return true
    }

    private func begin(_ step: Shutdown.Step) {
        shutdown?.step = step
        shutdown?.since = moment
        shutdown?.isLate = false
    }

    /// A second has gone by.
    func hurryShutdown(_ patience: Timeouts) {
        guard let shutdown else { return }
        let seconds =
            if case .settling = shutdown.step { patience.settlingSeconds } else { patience.goodbyeSeconds }
        if moment - shutdown.since > seconds { self.shutdown?.isLate = true }
    }
}
