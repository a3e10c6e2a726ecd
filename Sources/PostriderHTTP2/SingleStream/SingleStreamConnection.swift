/// What is left of a session on which one stream is open, nothing is under way and we have no header table of our own:
/// the counters of flow control. A device's link needs no more (RFC 9113), whether it is idle for hours or carries
/// messages all the time, where the library takes 9 KiB for it and several times the instructions for a message.
///
/// It reads and writes the frames of that one stream and of the connection. Streams that the peer begins are refused,
/// as RFC 9113, section 8.7 lets us: it may begin them on another connection. Their header blocks are not decoded, so
/// the table that they would change is not kept either.
final class SingleStreamConnection {
    /// What a frame of the peer means for the session.
    enum Event: Equatable {
        /// Nothing that anybody has to be told of.
        case nothing
        /// These bytes of the frame's payload are body of the stream; perhaps the last ones.
        case body(Range<Int>, isLast: Bool)
        /// The peer has said everything on the stream.
        case ended
        /// The peer began a stream, which is refused.
        case refused
        /// The peer has reset the stream.
        case reset(errorCode: UInt32)
        case pingAcknowledged
        case settings(maxConcurrentStreams: UInt32)
        case goaway(lastStream: Int32, errorCode: UInt32)
    }

    /// A direction of flow control: how much may still be sent.
    struct Windows {
        var connection: Int
        var stream: Int
        /// What new streams begin with: a change of it changes theirs.
        var initial: Int
    }

    /// A direction of flow control: how much was received that was not given back, of how much there is.
    struct Receipts {
        var connection: Int
        var stream: Int
        var connectionWindow: Int
        var streamWindow: Int
    }

    let stream: Int32
    /// The last stream that the peer began, refused ones included.
    var lastStream: Int32
    /// Whether the peer has said everything on the stream, and whether we have.
    var isPeerDone = false
    var isOwnDone = false
    /// Whether one of both has reset it.
    var isReset = false
    var windows: Windows
    /// Bytes of a DATA frame at most.
    var frameBytes: Int
    /// Streams that the peer lets us begin.
    var maxConcurrentStreams: UInt32
    /// Whether one of both has said that it is going.
    var isGoing = false
    /// Frames that wait to be sent, whole.
    private(set) var output: [UInt8] = []

    var receipts: Receipts
    /// A header block that has begun and not ended.
    var block: (stream: Int32, bytes: Int, endsStream: Bool)?
    var cutStreams: RecentlyClosedStreams

    static let largestWindow = Int(Int32.max)

    init(
        stream: Int32, lastStream: Int32, windows: Windows, frameBytes: Int, maxConcurrentStreams: UInt32,
        receipts: Receipts, cutStreams: RecentlyClosedStreams
    ) {
        self.stream = stream
        self.lastStream = lastStream
        self.windows = windows
        self.frameBytes = frameBytes
        self.maxConcurrentStreams = maxConcurrentStreams
        self.receipts = receipts
        self.cutStreams = cutStreams
    }

    /// Whether nothing can be said on the stream any more.
    var isClosed: Bool { isReset || isPeerDone && isOwnDone }

    /// How many bytes of body may leave in one frame now.
    var room: Int { max(0, min(windows.connection, windows.stream, frameBytes)) }

    /// Adds a frame that waits to be sent.
    func write(_ kind: FrameHead.Kind, flags: UInt8 = 0, stream: Int32, payload: [UInt8]) {
        FrameHead(kind: kind, flags: flags, stream: stream, count: payload.count).write(to: &output)
        output += payload
    }

    /// Moves the frames that wait to the end of `target`.
    func moveOutput(to target: inout [UInt8]) {
        guard !output.isEmpty else { return }
        target += output
        output = []
    }

    /// So much body leaves.
    func spend(_ count: Int) {
        windows.connection -= count
        windows.stream -= count
    }

    /// The stream is over at our end, whatever the peer does.
    func reset(errorCode: UInt32) {
        guard !isClosed else { return }
        isReset = true
        if !isPeerDone { cutStreams.remember(stream) }
        write(.reset, stream: stream, payload: errorCode.bytes)
    }
}
