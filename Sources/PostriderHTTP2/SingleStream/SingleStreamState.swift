/// The protocol state of a connection with one open stream and no header table for what we send: the counters of flow
/// control. It reads and writes the frames of that stream and of the connection (RFC 9113); no I/O, and no calls to the
/// handler.
///
/// Streams that the peer begins are refused, as RFC 9113, section 8.7 allows: the peer may begin them on another
/// connection. Their header blocks are not decoded, so no table is kept for them.
struct SingleStreamState {
    /// What a frame of the peer means for the connection.
    enum Event: Equatable {
        /// The handler need not be told.
        case nothing
        /// These bytes of the frame's payload belong to the stream's body. `isLast`: the frame has END_STREAM.
        case body(Range<Int>, isLast: Bool)
        /// The peer has ended the stream.
        case ended
        /// The peer began a stream, which is refused.
        case refused
        /// The peer has reset the stream.
        case reset(errorCode: UInt32)
        case pingAcknowledged
        case settings(maxConcurrentStreams: UInt32)
        case goaway(lastStream: Int32, errorCode: UInt32)
    }

    /// The stream's state (RFC 9113, section 5.1).
    enum StreamPhase {
        case open
        /// We have sent END_STREAM, the peer has not.
        case halfClosedLocal
        /// The peer has sent END_STREAM, we have not.
        case halfClosedRemote
        /// Both ends have sent END_STREAM.
        case closed
        /// One end has reset the stream.
        case reset

        /// Whether nothing can be sent on the stream any more.
        var isOver: Bool {
            switch self {
            case .open, .halfClosedLocal, .halfClosedRemote: false
            case .closed, .reset: true
            }
        }
    }

    let stream: Int32
    /// The last stream that the peer began, refused ones included.
    var lastStream: Int32
    var phase = StreamPhase.open
    var windows: FlowControl.Send
    var received: FlowControl.Receive
    /// The largest DATA payload that we send.
    var frameBytes: Int
    /// How many streams the peer lets us begin.
    var maxConcurrentStreams: UInt32
    /// Whether either end has sent GOAWAY.
    var isGoing = false
    /// Complete frames that wait to be sent.
    private(set) var output: [UInt8] = []
    /// A header block that is not complete.
    var block: (stream: Int32, bytes: Int, endsStream: Bool)?
    var closedStreams: RecentlyClosedStreams

    init(
        stream: Int32, lastStream: Int32, windows: FlowControl.Send, received: FlowControl.Receive,
        frameBytes: Int, maxConcurrentStreams: UInt32, closedStreams: RecentlyClosedStreams
    ) {
        self.stream = stream
        self.lastStream = lastStream
        self.windows = windows
        self.received = received
        self.frameBytes = frameBytes
        self.maxConcurrentStreams = maxConcurrentStreams
        self.closedStreams = closedStreams
    }

    /// Whether the peer has ended the stream.
    var hasPeerEnded: Bool { phase == .halfClosedRemote || phase == .closed }
    /// Whether we may still send on the stream.
    var maySend: Bool { phase == .open || phase == .halfClosedRemote }

    /// How many bytes of body may be sent in one frame now.
    var room: Int { max(0, min(windows.connection, windows.stream, frameBytes)) }

    /// Adds a frame that waits to be sent.
    mutating func write(_ kind: FrameHead.Kind, flags: UInt8 = 0, stream: Int32, payload: [UInt8]) {
        FrameHead(kind: kind, flags: flags, stream: stream, count: payload.count).write(to: &output)
        output += payload
    }

    /// Moves the frames that wait to the end of `target`.
    mutating func moveOutput(to target: inout [UInt8]) {
        guard !output.isEmpty else { return }
        target += output
        output = []
    }

    /// Takes this many sent bytes off the windows.
    mutating func spend(_ count: Int) {
        windows.connection -= count
        windows.stream -= count
    }

    /// The peer has ended the stream.
    mutating func peerEnded() {
        switch phase {
        case .open: phase = .halfClosedRemote
        case .halfClosedLocal: phase = .closed
        // These are trailers that had begun before we reset the stream.
        case .halfClosedRemote, .closed, .reset: break
        }
    }

    /// We have sent END_STREAM.
    mutating func ended() {
        precondition(maySend, "a stream is ended once")
        phase = phase == .open ? .halfClosedLocal : .closed
    }

    /// We reset the stream.
    mutating func reset(errorCode: UInt32) {
        guard !phase.isOver else { return }
        if !hasPeerEnded { closedStreams.remember(stream) }
        phase = .reset
        write(.reset, stream: stream, payload: errorCode.bytes)
    }
}
