public import PostriderHTTP2
public import PostriderTransport

/// The owner of an ``HTTP2Handler``. It handles events of streams (``SessionHandler``), and the begin and the end of
/// the connection.
public protocol EndpointOwner: SessionHandler {
    /// The connection is established, including TLS; requests may arrive or be made.
    func opened()

    /// The connection has ended, and every stream of it was closed. This is the last call, and it is made exactly
    /// once.
    func disconnected(_ reason: CloseReason)

    /// What ``disconnected(_:)`` tells, with the peer of the connection; nil if it was never established.
    func disconnected(_ reason: CloseReason, from peer: Peer?)
}

extension EndpointOwner {
    /// The default does nothing.
    public func disconnected(_ reason: CloseReason) {}
    /// The default calls the method without the peer.
    public func disconnected(_ reason: CloseReason, from peer: Peer?) { disconnected(reason) }
}

/// HTTP/2 on one connection. It joins PostriderTransport, which knows no protocol, with PostriderHTTP2, which knows
/// no socket. It is used for servers and clients, with TLS and on Unix sockets.
///
/// The connection holds the handler, and the handler holds its owner until the connection has ended. The owner's
/// reference to the handler is not strong.
public final class HTTP2Handler: ConnectionHandler, FlushScheduler {
    /// The streams. What is written to them is sent at the end of the turn.
    public let streams: HTTP2Connection
    /// The connection; nil before it is established and after it has ended.
    public private(set) var wire: (any ConnectionOutput)?
    /// The owner; nil after the connection has ended.
    public private(set) var owner: (any EndpointOwner)?
    /// Is shown the bytes of the peer before the streams get them; nil for nobody.
    public var inputObserver: ((Span<UInt8>) -> Void)?
    private let timeouts: Timeouts
    private var hasHeard = false
    private var isClosing = false
    /// The reason with which the connection closes after its streams have ended; nil if no such end was requested.
    private var endReason: CloseReason?

    /// Creates a handler in this role for `owner`.
    public init(
        role: HTTP2Connection.Role, settings: SessionSettings, timeouts: Timeouts = Timeouts(),
        owner: any EndpointOwner
    ) {
        self.timeouts = timeouts
        streams = HTTP2Connection(role: role, settings: settings, handler: owner)
        self.owner = owner
        streams.flushScheduler = self
    }

    /// The other end of the connection; nil before it is established.
    public var peer: Peer? { wire?.peer }

    /// Requests a flush at the end of this turn. A peer with too much blocked output is cut off.
    public func setNeedsFlush() {
        if streams.isOverfull { wire?.abort(.outputNotTaken) }
        wire?.setNeedsFlush()
    }

    /// Sends pending output and GOAWAY with this debug data, and closes. Open streams end with it. Only the first
    /// call counts.
    public func close(_ reason: CloseReason, errorCode: UInt32 = ErrorCode.noError, debug: [UInt8] = []) {
        guard let wire, !isClosing else { return }
        isClosing = true
        streams.goaway(errorCode: errorCode, debug: debug)
        wire.close(reason)
    }

    /// Ends the connection without losing a stream that the peer has begun: the owner goes on answering until
    /// ``EndpointOwner/disconnected(_:)``. Only the first call counts. See
    /// ``HTTP2/HTTP2Connection/shutDown(debug:settles:)``.
    ///
    /// - Parameters:
    ///   - debug: the debug data of the GOAWAY frames.
    ///   - settles: whether to wait first until the peer has been silent for a round trip.
    public func closeWhenAnswered(_ reason: CloseReason, debug: [UInt8] = [], settles: Bool = false) {
        guard wire != nil, !isClosing, endReason == nil else { return }
        endReason = reason
        streams.shutDown(debug: debug, settles: settles)
    }

    /// Answers a request with a JSON body.
    public func answer(_ stream: Int32, status: Int, json body: Span<UInt8>) {
        var head = HeaderBlock()
        head.add(":status", String(status))
        head.add("content-type", "application/json")
        streams.openResponse(stream, head)
        streams.send(stream, body)
        streams.finish(stream)
    }

    /// Returns whether anything was received since the last call, for keepalives.
    public func takeHeard() -> Bool {
        defer { hasHeard = false }
        return hasHeard
    }

    // MARK: What the wire calls

    /// Tells the owner that the connection is established.
    public func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        owner?.opened()
        wire.setNeedsFlush()
    }

    /// Passes bytes from the peer to the streams, and closes the connection if the peer breaks HTTP/2.
    public func received(_ bytes: Span<UInt8>) {
        hasHeard = true
        inputObserver?(bytes)
        do throws(SessionError) {
            try streams.receive(bytes)
            if streams.isFinished { wire?.close(endReason ?? .localClose) }
        } catch {
            wire?.close(.protocolError(error.description, name: error.name))
        }
        flushIfNeeded()
    }

    /// Closes the connection after the peer has ended its output, because HTTP/2 has no half-closed connections.
    public func inputEnded() {
        wire?.close(.peerClosed)
    }

    /// Appends the output of the streams, and closes the connection after the last of it.
    public func flush(into output: inout [UInt8]) {
        streams.drain(into: &output)
        if streams.wantsToSend {
            setNeedsFlush()
        } else if streams.isFinished {
            let failure = streams.failure.map { CloseReason.protocolError($0.description, name: $0.name) }
            wire?.close(failure ?? endReason ?? .localClose)
        }
    }

    /// Whether the peer has to do something within a time limit.
    public var isKeptWaiting: Bool { !isClosing && streams.isKeptWaiting }

    /// The number of requests that the peer has begun.
    public var requestsReceived: Int { streams.requestsReceived }

    /// Checks time limits about once a second. Stalled streams are reset; a connection that stalls as a whole is
    /// closed.
    public func look() {
        if let overdue = streams.tick(timeouts) {
            let sentence = overdue.sentence(timeouts)
            let code =
                overdue == .settingsAcknowledgement ? ErrorCode.settingsTimeout : ErrorCode.protocolError
            close(.stalled(sentence), errorCode: code, debug: Array(sentence.utf8))
        }
        flushIfNeeded()
    }

    /// Flushes output that the streams produced during a call without requesting a flush.
    private func flushIfNeeded() {
        if streams.wantsToSend || streams.isOverfull { setNeedsFlush() }
    }

    /// The connection has ended: closes every open stream, tells the owner, and releases it.
    public func closed(_ reason: CloseReason) {
        let peer = wire?.peer
        wire = nil
        streams.end()
        owner?.disconnected(reason, from: peer)
        owner = nil
    }
}

extension AwaitedAction {
    /// A sentence that says what the peer did not do in time, for the peer and for the log.
    fileprivate func sentence(_ timeouts: Timeouts) -> String {
        switch self {
        case .preface: "no connection preface within \(timeouts.prefaceSeconds) seconds"
        case .settingsAcknowledgement: "SETTINGS not acknowledged within \(timeouts.settingsSeconds) seconds"
        case .headerBlock: "a header block without end after \(timeouts.headerBlockSeconds) seconds"
        }
    }
}
