import CPostriderNghttp2
import Synchronization

/// One end of an HTTP/2 connection: bytes in, calls to a handler and bytes out. No I/O and no clock.
///
/// Confined to one thread at a time, with which its connection may move. The owner calls `receive` with
/// what arrived and, once a turn, `drain` for what is to be sent; the verbs in between only take note. When
/// `receive` throws or `isFinished` holds after a `drain`, the owner closes the connection (after sending
/// what that drain gave it, which holds the GOAWAY) and calls `end()`. SETTINGS are the first frame of
/// every session.
@safe
public final class HTTP2Connection {
    /// Which end of the connection this is.
    public enum Role: Sendable {
        /// Answers requests.
        case server
        /// Makes requests.
        case client
    }

    /// Which end of the connection this is.
    public let role: Role
    /// Why the session broke down, if it did: ours to the peer or, found out in `drain`, the library's
    /// verdict.
    public internal(set) var failure: SessionError?

    var raw: OpaquePointer
    /// What takes the library's place on a link that needs little; `raw` is not to be used then.
    var lean: SingleStreamConnection?
    /// Whether the library is let go of as soon as it can be.
    var isToBecomeLean = false
    /// The beginning of a frame that has come to a lean session only in part.
    var partial: [UInt8] = []
    let settings: SessionSettings
    let handler: HandlerReference
    /// The header block that is being received; blocks of one connection never interleave.
    var block = HeaderBlock()
    /// Tells frames apart before the library does, and reads header blocks in its place where it can; nil for clients.
    var gate: HeaderBlockInterceptor?
    /// Whether ``block`` holds the block already that the library is being given.
    var isBlockRead = false
    /// Streams whose bodies have been taken entirely since the handler was told last.
    var emptied: [Int32] = []
    var cutStreams = RecentlyClosedStreams()
    /// The last stream that was refused because the peer has too many open.
    var lastRefused: Int32 = 0
    /// Streams that were answered before they were reset.
    var lateResets: [(stream: Int32, errorCode: UInt32)] = []
    var scanner: FloodAccounting
    var resets: RapidResetDetector
    /// How often the owner has looked: about as many seconds as the peer has kept us waiting.
    var moment = 0
    /// What the peer owes, by kind: which one of its kind, and since which moment.
    var debts: [(number: Int, since: Int)?] = []
    var sentSettings = 0
    var acknowledgedSettings = 0
    /// The last stream whose head the handler was given.
    var lastStream: Int32 = 0
    /// Streams whose answers go on until they are finished.
    var streamingCount = 0
    /// Whether more waits for the peer than is kept: cut the connection.
    public internal(set) var isOverfull = false
    /// What the owner's own GOAWAY said.
    var saidErrorCode = ErrorCode.noError
    /// What the first SETTINGS frame is to allow the peer, if not what the session takes.
    var announcedStreamLimit: UInt32?
    /// Fields of answers that the library has not framed yet; of these, which one is next.
    var tails: [Tail] = []
    var tailBytes: [UInt8] = []
    var nextTail = 0
    /// Whether the block that is being received has `expect: 100-continue`.
    var blockExpectsContinue = false
    /// Streams whose peer waits for `100` before it sends the body.
    var awaitingContinue: [Int32] = []
    var pingsSent = 0
    var pingsAcknowledged = 0
    /// The end of the connection, once it has begun.
    var shutdown: Shutdown?
    /// A GOAWAY that waits until all else is sent.
    var farewell: (errorCode: UInt32, debug: [UInt8])?

    private let memory: SessionMemory
    /// The first ``streamCount`` are the open streams; behind them lie those that are used again.
    var records: [StreamRecord] = []
    /// How many streams are open (had a head and are not closed).
    public private(set) var streamCount = 0
    private(set) var hasEnded = false
    /// Whether the library is at work further down the stack: it must not be entered a second time.
    var isAtWork = false

    /// Makes a session; its SETTINGS wait in the first `drain`.
    ///
    /// - Parameter handler: is not retained and must outlive the session: the owner itself, or what it holds.
    public init(role: Role, settings: SessionSettings = SessionSettings(), handler: any SessionHandler) {
        self.role = role
        self.settings = settings
        self.handler = HandlerReference.to(handler)
        scanner = FloodAccounting(role: role)
        resets = RapidResetDetector(after: role == .server ? settings.judgedStreams : 0)
        gate = role == .server ? HeaderBlockInterceptor(settings) : nil
        memory = SessionMemory(role: role)
        unsafe raw = makeLibrarySession(role, settings, memory)
        unsafe nghttp2_session_set_user_data(raw, Unmanaged.passUnretained(self).toOpaque())
        submitFirstSettings()
    }

    deinit {
        if lean == nil { unsafe nghttp2_session_del(raw) }
    }

    /// Takes what arrived and calls the handler for it.
    ///
    /// - Throws: when the connection is over by the peer's fault. Not every violation is known here
    ///   already, some show as `failure` and `isFinished` after the next `drain`. Later calls throw the
    ///   same.
    public func receive(_ bytes: Span<UInt8>) throws(SessionError) {
        precondition(!isAtWork, "receive and drain must not be called from a handler")
        if let failure { throw failure }
        guard !hasEnded else { return }
        if let lean {
            try receive(bytes, on: lean)
            if let failure { throw failure }
            return
        }
        isAtWork = true
        let result = unsafe bytes.withUnsafeBufferPointer { unsafe read($0) }
        isAtWork = false
        guard !hasEnded else { return }
        if result < 0 {
            let error = failure ?? Self.error(Int32(result))
            fail(error, saying: error == .notHTTP2 ? Self.describeForeigner(bytes) : nil)
        } else if role == .server, queuedFrames > settings.maxQueuedFrames {
            fail(.flooded)
        } else if !scanner.advance(over: bytes, mostEmptyFrames: settings.maxEmptyFrames) {
            fail(.flooded)
        }
        if let failure { throw failure }
        if !awaitingContinue.isEmpty { sendContinue() }
        if isToBecomeLean { becomeLean() }
    }

    /// Appends everything that may be sent now. The handler learns of closed streams and emptied bodies
    /// meanwhile.
    ///
    /// What it sends on emptied bodies leaves in the same call, up to a bound; `wantsToSend` tells of the
    /// rest.
    public func drain(into output: inout [UInt8]) {
        precondition(!isAtWork, "receive and drain must not be called from a handler")
        if let lean { return drain(lean, into: &output) }
        let start = output.count
        repeat {
            guard !isBroken else { return }
            isAtWork = true
            memory.frames.lock.withLock { _ in sendAll(into: &output) }
            isAtWork = false
            if announcedStreamLimit != nil { writeStreamLimit(into: &output, at: start) }
        } while (notifyEmptied() || sendLateResets() || advanceShutdown() || sayFarewell())
            && output.count - start < Self.drainBytes
        if isToBecomeLean { becomeLean() }
    }

    /// Whether `drain` would append something.
    public var wantsToSend: Bool {
        !isBroken && (hasMore || farewell != nil || isShutdownStepDue)
    }

    /// Whether nothing more will be read or sent: close the connection.
    public var isFinished: Bool {
        let mayRead = failure == nil && wantsToRead
        return isBroken || !mayRead && !wantsToSend
    }

    /// Whether there is something to send besides the farewell.
    var hasMore: Bool {
        if let lean { return hasMore(on: lean) }
        return unsafe nghttp2_session_want_write(raw) != 0 || !emptied.isEmpty || !lateResets.isEmpty
    }

    /// How many requests the peer has begun to make; trailers count as well.
    public var requestsReceived: Int { scanner.headerBlocks }

    /// The connection is gone: reports every open stream closed with `ErrorCode.cancel`, then nothing any
    /// more.
    public func end() {
        guard !hasEnded else { return }
        hasEnded = true
        while let last = streams.last {
            let id = last.id
            forget(last)
            handler.lend { $0.closed(id, errorCode: ErrorCode.cancel) }
        }
    }

    /// Takes back what frames without content have cost the peer so far.
    ///
    /// A PING, PRIORITY, WINDOW_UPDATE, SETTINGS, RST_STREAM or empty DATA is work and carries nothing; each frame
    /// with content pays for a hundred. On a connection where nothing but keepalives happens for weeks, the
    /// owner, who has a clock, calls this from time to time.
    public func forgiveEmptyFrames() {
        scanner.forgiveEmptyFrames()
    }

    /// `drain` stops asking for more of streaming bodies above this many bytes.
    static let drainBytes = 256 * 1024
}

// MARK: - Streams

extension HTTP2Connection {
    /// The records of the open streams, in no order.
    var streams: ArraySlice<StreamRecord> { records[..<streamCount] }

    /// A record, an old one where there is one. It is counted as an open stream from now on.
    func makeRecord(_ id: Int32) -> StreamRecord {
        if streamCount == records.count { records.append(StreamRecord(index: streamCount)) }
        let record = records[streamCount]
        streamCount += 1
        record.id = id
        record.since = moment
        return record
    }

    /// The record is free to be used again.
    func forget(_ record: StreamRecord) {
        streamCount -= 1
        let (place, last) = (record.index, streamCount)
        if place != last {
            records[last].index = place
            record.index = last
            // An array's own exchange counts references up and down.
            unsafe records.withUnsafeMutableBufferPointer { unsafe $0.swapAt(place, last) }
        }
        endStreaming(record)
        record.clear()
    }

    /// The record of an open stream.
    func record(_ stream: Int32) -> StreamRecord? {
        if let record = attachedRecord(stream) { return record }
        // A request that the library has not opened yet is one of the youngest.
        return role == .client ? streams.last { $0.id == stream } : nil
    }

    /// The record that the library holds for us. A stream that was reported closed has none, even inside
    /// the report.
    func attachedRecord(_ stream: Int32) -> StreamRecord? { withAttachedRecord(stream) { $0 } }

    /// Lends that record; nil: there is none.
    func withAttachedRecord<Result>(_ stream: Int32, _ body: (StreamRecord) -> Result) -> Result? {
        guard lean == nil else {
            return streamCount > 0 && records[0].id == stream ? body(records[0]) : nil
        }
        guard let pointer = unsafe nghttp2_session_get_stream_user_data(raw, stream) else { return nil }
        return unsafe Unmanaged<StreamRecord>.fromOpaque(pointer)._withUnsafeGuaranteedRef { record in
            record.id == stream ? body(record) : nil
        }
    }

    /// The library has closed a stream.
    func streamClosed(_ stream: Int32, errorCode: UInt32) {
        let hasEnded = withAttachedRecord(stream) { record in
            let hasEnded = record.hasEnded
            forget(record)
            return hasEnded
        }
        if hasEnded != true { cutStreams.remember(stream) }
        guard hasEnded != nil else { return }
        handler.lend { $0.closed(stream, errorCode: errorCode) }
    }
}

// MARK: - Sending

extension HTTP2Connection {
    /// Sends until the library has nothing left. Other sessions build their frames in the same memory, so
    /// that nothing may stay there.
    private func sendAll(into output: inout [UInt8]) {
        while true {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(raw, &frame)
            guard count > 0 else {
                if count < 0, failure == nil { failure = .libraryFailure(Int32(count)) }
                if !tails.isEmpty { forgetTails() }
                return
            }
            let bytes = unsafe UnsafeBufferPointer(start: frame, count: count)
            let start = output.count
            unsafe output.append(contentsOf: bytes)
            note(&output, sent: start)
        }
    }

    /// Whether the library itself failed: it must not be entered again.
    private var isBroken: Bool {
        if case .libraryFailure = failure { true } else { false }
    }

    private var queuedFrames: Int { unsafe nghttp2_session_get_outbound_queue_size(raw) }
}
