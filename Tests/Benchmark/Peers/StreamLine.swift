import PostriderEndpoints
import PostriderHTTP2
import PostriderTransport

/// One HTTP/2 connection.
class StreamLine: EndpointOwner {
    unowned let crowd: Crowd
    private(set) lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)

    init(of crowd: Crowd) { self.crowd = crowd }

    /// Makes a GET request.
    final func get(_ path: String, accept: String) {
        request(
            [
                ":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path,
                "accept": accept,
            ], body: nil)
    }

    /// Makes a request.
    final func request(_ head: HeaderBlock, body: [UInt8]?) {
        do throws(SessionError) {
            _ = try endpoint.streams.request(head, body: body)
        } catch {
            fail(error.description)
        }
    }

    /// Ends the connection, which ends the run.
    final func fail(_ sentence: String) { endpoint.wire?.close(.protocolError(sentence)) }

    // MARK: EndpointOwner

    func opened() {}
    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {}
    func data(_ stream: Int32, _ bytes: Span<UInt8>) {}
    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func settingsReceived(maxConcurrentStreams: UInt32) {}
    final func disconnected(_ reason: CloseReason) { crowd.connectionEnded(reason) }
}

/// A client that makes one request and stays connected.
final class StreamCaller: StreamLine {
    override func opened() { get("/", accept: "*/*") }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        crowd.subscriberIsReady()
    }
}

/// A subscriber: one open stream with messages as server-sent events (the HTML standard, 9.2).
final class StreamReader: StreamLine {
    private let number: Int
    /// The beginning of an incomplete event.
    private var rest: [UInt8] = []

    init(_ number: Int, of crowd: Crowd) {
        self.number = number
        super.init(of: crowd)
    }

    override func opened() { get("/read/\(number)", accept: "text/event-stream") }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard block.text(of: ":status") == "200", !endStream else {
            fail("a subscriber was refused")
            return
        }
        crowd.subscriberIsReady()
    }

    override func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        crowd.readClock()
        var held: [UInt8] = []
        swap(&held, &rest)
        held.append(copying: bytes)
        var start = 0
        // A line ends with a line feed; a line with a message begins with its name.
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

    override func ended(_ stream: Int32) { fail("a subscriber's stream ended") }
}

/// A publisher: one request for each message.
final class StreamWriter: StreamLine, Publisher {
    private var underWay = 0
    private var mostUnderWay = 1
    private var isReady = false

    var hasRoom: Bool { endpoint.wire != nil && underWay < mostUnderWay }

    func publish(_ message: [UInt8], to subscriber: Int) {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", "https")
        head.add(":authority", "localhost")
        head.addUnindexed(":path", "/write/\(subscriber)")
        underWay += 1
        request(head, body: message)
    }

    override func settingsReceived(maxConcurrentStreams: UInt32) {
        mostUnderWay = Int(clamping: maxConcurrentStreams)
        if !isReady { crowd.publisherIsReady() }
        isReady = true
        crowd.roomWasMade()
    }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        // 201: there was a subscriber; 202: there was none.
        guard block.text(of: ":status") == "201" else {
            fail("a message was refused: \(block.text(of: ":status") ?? "")")
            return
        }
        crowd.messageWasAcknowledged()
    }

    override func closed(_ stream: Int32, errorCode: UInt32) {
        underWay -= 1
        crowd.roomWasMade()
    }
}
