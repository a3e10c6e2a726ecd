public import PostriderEndpoints
public import PostriderHTTP2
public import PostriderTransport

/// Receives server-sent events (`text/event-stream`) over a connection of its own.
public final class EventStreamClient: EndpointOwner {
    /// One event.
    public struct Event: Sendable, Equatable {
        /// The type of the event.
        public let name: String
        /// The data of the event.
        public let data: String
    }

    /// Why the events have ended.
    public enum End: Sendable, Equatable {
        /// The connection has ended.
        case connection(CloseReason)
        /// The server sent this response instead of events.
        case answer(status: Int, body: [UInt8])
    }

    private let server: Server
    private let path: String
    private let whenEvent: (Event) -> Void
    private let whenEnded: (End) -> Void
    private lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    private var dialing: Dialing?
    private var status = 0
    /// The beginning of an incomplete event, or the body of another response.
    private var bytes: [UInt8] = []

    /// The most bytes of an event.
    private static let eventBytes = 65_536

    private init(
        _ server: Server, _ path: String, _ whenEvent: @escaping (Event) -> Void,
        _ whenEnded: @escaping (End) -> Void
    ) {
        self.server = server
        self.path = path
        self.whenEvent = whenEvent
        self.whenEnded = whenEnded
    }

    /// Connects, and calls `received` with each event until the connection ends; then `ended` is called once.
    public static func follow(
        _ path: String, of server: Server, on loop: EventLoop, connectMilliseconds: Int = 10_000,
        event: @escaping (Event) -> Void, ended: @escaping (End) -> Void
    ) -> EventStreamClient {
        let client = EventStreamClient(server, path, event, ended)
        client.dialing = server.dial(
            from: loop, timeoutMilliseconds: connectMilliseconds, session: client.endpoint)
        return client
    }

    /// Ends the connection.
    public func close() { endpoint.close(.localClose) }

    // MARK: EndpointOwner

    /// Sends the request.
    public func opened() {
        var head = HeaderBlock()
        head.add(":method", "GET")
        head.add(":scheme", server.scheme)
        head.add(":authority", server.authority)
        head.add(":path", path)
        head.add("accept", "text/event-stream")
        do throws(SessionError) {
            _ = try endpoint.streams.request(head, body: [])
        } catch {
            preconditionFailure("a new connection takes a request")
        }
    }

    /// Reads the status of the response.
    public func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        status = block.text(of: ":status").flatMap { Int($0) } ?? 0
    }

    /// Reads events, or the body of another response.
    public func data(_ stream: Int32, _ received: Span<UInt8>) {
        bytes.append(copying: received)
        guard status == 200 else { return }
        takeEvents()
        if bytes.count > Self.eventBytes {
            endpoint.close(.protocolError("an event has more than \(Self.eventBytes) bytes"))
        }
    }

    /// The server has ended the response.
    public func ended(_ stream: Int32) { endpoint.close(.peerClosed) }

    /// The server has reset the stream, or the response has ended.
    public func closed(_ stream: Int32, errorCode: UInt32) { endpoint.close(.peerClosed) }

    /// Does nothing, because the stream goes on.
    public func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    /// Reports why the events have ended.
    public func disconnected(_ reason: CloseReason) {
        dialing = nil
        let isAnswered = status != 0 && status != 200
        whenEnded(isAnswered ? .answer(status: status, body: bytes) : .connection(reason))
    }

    /// Takes complete events, which end with an empty line, from the bytes received.
    private func takeEvents() {
        let newline = UInt8(ascii: "\n")
        var begin = 0
        var index = 0
        while index + 1 < bytes.count {
            guard bytes[index] == newline, bytes[index + 1] == newline else {
                index += 1
                continue
            }
            if let event = Self.event(String(decoding: bytes[begin..<index], as: UTF8.self)) {
                whenEvent(event)
            }
            index += 2
            begin = index
        }
        bytes.removeFirst(begin)
    }

    /// Parses the lines of an event; nil for comments.
    static func event(_ text: String) -> Event? {
        var (name, data) = ("message", [Substring]())
        for line in text.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") { data.append(line.dropFirst(6)) }
        }
        return data.isEmpty ? nil : Event(name: name, data: data.joined(separator: "\n"))
    }
}
