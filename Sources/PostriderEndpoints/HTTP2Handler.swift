public import PostriderHTTP2
public import PostriderTransport

/// Who speaks through an ``HTTP2Handler``: is told of streams (``SessionHandler``) and of the connection's two ends.
public protocol EndpointOwner: SessionHandler {
    /// The connection is established, TLS included; requests may come or be made.
    func opened()

    /// The connection is gone, and every stream of it has been closed. Last call, exactly once.
    func disconnected(_ reason: CloseReason)

    /// The same, for an owner that tells whose connection it was; nil if it was never established.
    func disconnected(_ reason: CloseReason, from peer: Peer?)
}

extension EndpointOwner {
    /// Nothing.
    public func disconnected(_ reason: CloseReason) {}
    /// Goes on without the peer.
    public func disconnected(_ reason: CloseReason, from peer: Peer?) { disconnected(reason) }
}

/// HTTP/2 at one end of a connection: the piece between Transport, which knows no protocol, and HTTP2, which knows no
/// socket. Server or client, TLS or Unix socket, it is the same.
///
/// The connection holds the handler, the handler holds its owner until the connection is gone; the owner refers to the
/// handler without holding it.
public final class HTTP2Handler: ConnectionHandler, FlushScheduler {
    /// The streams. What is said on them leaves at the end of the turn.
    public let streams: HTTP2Connection
    /// The connection; nil before it is established and after it is gone.
    public private(set) var wire: (any ConnectionOutput)?
    /// Who speaks through this endpoint; nil after the connection is gone.
    public private(set) var owner: (any EndpointOwner)?
    private let timeouts: Timeouts
    private var hasHeard = false
    private var isClosing = false
    /// Why the session ends that ends by itself; nil: nobody has asked it to.
    private var endReason: CloseReason?

    /// An endpoint in this role for `owner`.
    public init(
        role: HTTP2Connection.Role, settings: SessionSettings, timeouts: Timeouts = Timeouts(),
        owner: any EndpointOwner
    ) {
        self.timeouts = timeouts
        streams = HTTP2Connection(role: role, settings: settings, handler: owner)
        self.owner = owner
        streams.flushScheduler = self
    }

    /// Whoever is at the other end, once the connection is established.
    public var peer: Peer? { wire?.peer }

    /// What was said on the streams leaves at the end of this turn. A peer for which too much waits already is cut.
    public func setNeedsFlush() {
        if streams.isOverfull { wire?.abort(.outputNotTaken) }
        wire?.setNeedsFlush()
    }

    /// Says what is left to say, then GOAWAY with this debug data, and closes. Open streams end with it. The first
    /// call counts.
    public func close(_ reason: CloseReason, errorCode: UInt32 = ErrorCode.noError, debug: [UInt8] = []) {
        guard let wire, !isClosing else { return }
        isClosing = true
        streams.goaway(errorCode: errorCode, debug: debug)
        wire.close(reason)
    }

    /// Ends the connection without losing a stream that the peer has begun: the owner goes on answering until
    /// ``EndpointOwner/disconnected(_:)``. The first call counts. See
    /// ``HTTP2/HTTP2Connection/shutDown(debug:settles:)``.
    ///
    /// - Parameters:
    ///   - debug: the debug data of the GOAWAYs.
    ///   - settles: whether to wait first until the peer has been silent for a round trip.
    public func closeWhenAnswered(_ reason: CloseReason, debug: [UInt8] = [], settles: Bool = false) {
        guard wire != nil, !isClosing, endReason == nil else { return }
        endReason = reason
        streams.shutDown(debug: debug, settles: settles)
    }

    /// Answers a request with JSON.
    public func answer(_ stream: Int32, status: Int, json body: Span<UInt8>) {
        var head = HeaderBlock()
        head.add(":status", String(status))
        head.add("content-type", "application/json")
        streams.openResponse(stream, head)
        streams.send(stream, body)
        streams.finish(stream)
    }

    /// Whether anything was received since this was last asked: what a keepalive needs to know.
    public func takeHeard() -> Bool {
        defer { hasHeard = false }
        return hasHeard
    }

    // MARK: What the wire calls

    /// The connection is established: the owner may speak.
    public func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        owner?.opened()
        wire.setNeedsFlush()
    }

    /// Bytes from the peer go to the streams; a peer that breaks HTTP/2 loses the connection.
    public func received(_ bytes: Span<UInt8>) {
        hasHeard = true
        do throws(SessionError) {
            try streams.receive(bytes)
            if streams.isFinished { wire?.close(endReason ?? .localClose) }
        } catch {
            wire?.close(.protocolError(error.description, name: error.name))
        }
        flushIfNeeded()
    }

    /// The peer will say nothing more: HTTP/2 has no half-open end, so neither will we.
    public func inputEnded() {
        wire?.close(.peerClosed)
    }

    /// Everything that the streams have to say, and the end when that was the last of it.
    public func flush(into output: inout [UInt8]) {
        streams.drain(into: &output)
        if streams.wantsToSend {
            setNeedsFlush()
        } else if streams.isFinished {
            let failure = streams.failure.map { CloseReason.protocolError($0.description, name: $0.name) }
            wire?.close(failure ?? endReason ?? .localClose)
        }
    }

    /// Whether the peer owes something that has its time.
    public var isKeptWaiting: Bool { !isClosing && streams.isKeptWaiting }

    /// How many requests the peer has begun to make.
    public var requestsReceived: Int { streams.requestsReceived }

    /// A second has gone by in which the peer kept us waiting. Stalled streams are reset; a connection that stalls as a
    /// whole is closed.
    public func look() {
        if let overdue = streams.tick(timeouts) {
            let sentence = overdue.sentence(timeouts)
            let code =
                overdue == .settingsAcknowledgement ? ErrorCode.settingsTimeout : ErrorCode.protocolError
            close(.stalled(sentence), errorCode: code, debug: Array(sentence.utf8))
        }
        flushIfNeeded()
    }

    /// For what the streams have said while they were at work, when they do not ask for a flush.
    private func flushIfNeeded() {
        if streams.wantsToSend || streams.isOverfull { setNeedsFlush() }
    }

    /// The connection is gone: every open stream is closed, and the owner is told and let go.
    public func closed(_ reason: CloseReason) {
        let peer = wire?.peer
        wire = nil
        streams.end()
        owner?.disconnected(reason, from: peer)
        owner = nil
    }
}

extension AwaitedAction {
    /// What the peer did not do, for it and for the log.
    fileprivate func sentence(_ timeouts: Timeouts) -> String {
        switch self {
        case .preface: "no connection preface within \(timeouts.prefaceSeconds) seconds"
        case .settingsAcknowledgement: "SETTINGS not acknowledged within \(timeouts.settingsSeconds) seconds"
        case .headerBlock: "a header block without end after \(timeouts.headerBlockSeconds) seconds"
        }
    }
}
