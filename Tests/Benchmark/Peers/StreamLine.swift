import HTTP2
import Transport

/// One connection of HTTP/2.
class StreamLine: Transport.Session, SessionHandler {
    unowned let crowd: Crowd
    private(set) lazy var streams = HTTP2.Session(role: .client, handler: self)
    private(set) var wire: (any Wire)?

    init(of crowd: Crowd) { self.crowd = crowd }

    /// The connection is established.
    func opened() {}

    /// Asks for something.
    final func get(_ path: String, accept: String) {
        let head: HeaderBlock = [
            ":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path, "accept": accept,
        ]
        do throws(SessionError) {
            _ = try streams.request(head)
        } catch {
            wire?.close(.protocolError(error.description))
        }
    }

    final func opened(on wire: any Wire) {
        self.wire = wire
        opened()
        wire.setNeedsFlush()
    }

    final func received(_ bytes: Span<UInt8>) {
        crowd.readClock()
        do throws(SessionError) {
            try streams.receive(bytes)
        } catch {
            wire?.close(.protocolError(error.description))
        }
        if streams.wantsToSend { wire?.setNeedsFlush() }
    }

    final func inputEnded() { wire?.close(.peerClosed) }

    final func flush(into output: inout [UInt8]) {
        streams.drain(into: &output)
        if streams.wantsToSend { wire?.setNeedsFlush() }
    }

    final func closed(_ reason: CloseReason) {
        wire = nil
        streams.end()
        crowd.connectionEnded(reason)
    }

    // MARK: SessionHandler

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {}
    func data(_ stream: Int32, _ bytes: Span<UInt8>) {}
    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func settingsReceived(maxConcurrentStreams: UInt32) {}
}

/// Somebody who asks once and stays.
final class StreamCaller: StreamLine {
    override func opened() { get("/", accept: "*/*") }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        crowd.subscriberIsReady()
    }
}

/// A subscriber: one stream that stays open, on which messages come as server-sent events (the HTML standard, 9.2).
final class StreamReader: StreamLine {
    private let number: Int
    /// The beginning of an event whose end is still to come.
    private var rest: [UInt8] = []

    init(_ number: Int, of crowd: Crowd) {
        self.number = number
        super.init(of: crowd)
    }

    override func opened() { get("/read/\(number)", accept: "text/event-stream") }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard block.text(of: ":status") == "200", !endStream else {
            wire?.close(.protocolError("a subscriber was refused"))
            return
        }
        crowd.subscriberIsReady()
    }

    override func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        var held: [UInt8] = []
        swap(&held, &rest)
        held.append(copying: bytes)
        var start = 0
        // A line ends with a line feed; the one with a message begins with its name.
        for place in held.indices where held[place] == UInt8(ascii: "\n") {
            let line = held.span.extracting(start..<place)
            if line.count > 6, line.extracting(first: 6).matches("data: ") {
                crowd.messageArrived(line.extracting(droppingFirst: 6), at: number)
            }
            start = place + 1
        }
        held.removeFirst(start)
        swap(&held, &rest)
    }

    override func ended(_ stream: Int32) { wire?.close(.protocolError("a subscriber's stream ended")) }
}

/// A publisher: one request for each message.
final class StreamWriter: StreamLine, Publisher {
    private var underWay = 0
    private var mostUnderWay = 1
    private var isReady = false

    var hasRoom: Bool { wire != nil && underWay < mostUnderWay }

    func publish(_ message: [UInt8], to subscriber: Int) {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", "https")
        head.add(":authority", "localhost")
        head.addUnindexed(":path", "/write/\(subscriber)")
        do throws(SessionError) {
            _ = try streams.request(head, body: message)
            underWay += 1
        } catch {
            wire?.close(.protocolError(error.description))
        }
        wire?.setNeedsFlush()
    }

    override func settingsReceived(maxConcurrentStreams: UInt32) {
        mostUnderWay = Int(clamping: maxConcurrentStreams)
        if !isReady { crowd.publisherIsReady() }
        isReady = true
        crowd.roomWasMade()
    }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        // 201: a subscriber was there; 202: none was.
        guard block.text(of: ":status") == "201" else {
            wire?.close(.protocolError("a message was refused: \(block.text(of: ":status") ?? "")"))
            return
        }
        crowd.messageWasAcknowledged()
    }

    override func closed(_ stream: Int32, errorCode: UInt32) {
        underWay -= 1
        crowd.roomWasMade()
    }
}
