import PostriderClients
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import Testing

@testable import PostriderTransport

/// A server on the client's own loop whose answers a test decides.
final class FakeServer {
    let loop: EventLoop
    private(set) var sessions: [FakeSession] = []
    private let tls: TestTLS?
    private let folder: TemporaryFolder
    /// Nil only during the initialiser.
    private var listener: Listener?
    var onConnect: (FakeSession) -> Void = { _ in }
    /// Called for the head of each request.
    var onHead: (FakeSession, Int32) -> Void = { _, _ in }
    /// Called for bytes of a request's body.
    var onData: (FakeSession, Int32, Span<UInt8>) -> Void = { _, _, _ in }
    /// Called for each complete request.
    var onRequest: (FakeSession, FakeSession.Request) -> Void = { _, _ in }

    /// Creates a server with TLS, or on a Unix socket.
    init(on loop: EventLoop, tls: TestTLS? = nil, settings: SessionSettings = SessionSettings()) throws {
        self.loop = loop
        self.tls = tls
        folder = try TemporaryFolder()
        let address = try tls == nil ? folder.address("server.sock") : SocketAddress("127.0.0.1:0")
        listener = try loop.listen(address, tls: tls?.server) { [unowned self] _ in
            let session = FakeSession(self, settings)
            sessions.append(session)
            return session.endpoint
        }
    }

    var address: SocketAddress {
        get throws { try #require(listener).address }
    }

    /// Closes the listener; connections stay open.
    func stopListening() { listener?.close() }

    /// The server's address for a client.
    var place: Server {
        get throws {
            let address = try address
            guard let tls else { return Server(socket: address) }
            return Server(.address(address), tls: tls.client)
        }
    }
}

/// One connection of a ``FakeServer``.
final class FakeSession: EndpointOwner {
    struct Request {
        let stream: Int32
        let head: HeaderBlock
        var body: [UInt8] = []
    }

    private unowned let server: FakeServer
    private let settings: SessionSettings
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: settings, owner: self)
    private(set) var requests: [Int32: Request] = [:]
    private(set) var mostRequests = 0
    private(set) var closings: [(stream: Int32, errorCode: UInt32)] = []
    private(set) var isGone = false

    init(_ server: FakeServer, _ settings: SessionSettings) {
        self.server = server
        self.settings = settings
    }

    func answer(_ stream: Int32, status: Int = 200, body: String = "") {
        let head: HeaderBlock = [":status": String(status)]
        endpoint.streams.respond(stream, head, body: body.isEmpty ? nil : Array(body.utf8))
    }

    /// Cuts the connection, as the end of a process does.
    func die() { endpoint.wire?.abort(.localClose) }

    /// Stops reading, so that neither requests nor PINGs are answered.
    func turnDeaf() {
        guard let connection = endpoint.wire as? Connection else { return }
        connection.reading.hasEnded = true
        connection.updateInterest()
    }

    func opened() { server.onConnect(self) }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        requests[stream] = Request(stream: stream, head: block)
        mostRequests = max(mostRequests, requests.count)
        server.onHead(self, stream)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        for index in bytes.indices { requests[stream]?.body.append(bytes[index]) }
        server.onData(self, stream, bytes)
    }

    func ended(_ stream: Int32) {
        if let request = requests[stream] { server.onRequest(self, request) }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        requests[stream] = nil
        closings.append((stream, errorCode))
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func disconnected(_ reason: CloseReason) { isGone = true }
}
