import PostriderEndpoints
import PostriderHTTP2
import PostriderSystem
import PostriderTransport

/// One request to a relay's control socket, on a connection and a thread of its own.
final class ControlRequest: EndpointOwner {
    /// The status and the body of the answer.
    struct Response: Sendable {
        var status = 0
        var body: [UInt8] = []
    }

    private let head: HeaderBlock
    private let body: [UInt8]
    private unowned let loop: EventLoop
    private lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    private var response = Response()
    private var isComplete = false

    private init(_ method: String, _ path: String, _ body: [UInt8], on loop: EventLoop) {
        var head = HeaderBlock()
        head.add(":method", method)
        head.add(":scheme", "http")
        head.add(":authority", "localhost")
        head.add(":path", path)
        self.head = head
        self.body = body
        self.loop = loop
    }

    /// Makes a request and returns the body of the answer.
    ///
    /// - Parameter time: how long the answer may take.
    /// - Throws: the relay's sentence if it refuses the request, or one that says that it does not answer.
    static func send(
        _ method: String, _ path: String, body: [UInt8] = [], to address: SocketAddress,
        within time: Duration = .seconds(30)
    ) async throws(TestRelayError) -> [UInt8] {
        let milliseconds = time.milliseconds
        let response = await withCheckedContinuation { continuation in
            do throws(TransportError) {
                _ = try Thread.spawn(name: "control") {
                    continuation.resume(returning: run(method, path, body, address, milliseconds))
                }
            } catch {
                continuation.resume(returning: nil)
            }
        }
        guard let response else {
            throw TestRelayError("The relay at \(address) does not answer: it has ended, or is ending.")
        }
        guard response.status != 200 else { return response.body }
        let text = String(decoding: response.body, as: UTF8.self)
        throw TestRelayError(Answer(text)?["sentence"]?.string ?? "The relay answered \(response.status).")
    }

    /// Returns the response; nil if there was none.
    private static func run(
        _ method: String, _ path: String, _ body: [UInt8], _ address: SocketAddress, _ milliseconds: Int
    ) -> Response? {
        guard let loop = try? EventLoop() else { return nil }
        let request = ControlRequest(method, path, body, on: loop)
        loop.connect(to: address, session: request.endpoint)
        let timeout = loop.makeTimer { [unowned loop] in loop.stop() }
        timeout.arm(afterMilliseconds: milliseconds)
        loop.run()
        return request.isComplete ? request.response : nil
    }

    // MARK: EndpointOwner

    func opened() {
        do throws(SessionError) {
            _ = try endpoint.streams.request(head, body: body)
        } catch {
            loop.stop()
        }
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        if kind == .head { response.status = block.text(of: ":status").flatMap { Int($0) } ?? 0 }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) { response.body.append(copying: bytes) }

    func ended(_ stream: Int32) {
        isComplete = true
        endpoint.close(.localClose)
    }

    func closed(_ stream: Int32, errorCode: UInt32) { endpoint.close(.peerClosed) }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func disconnected(_ reason: CloseReason) { loop.stop() }
}

extension Duration {
    /// The whole milliseconds, at least 0.
    var milliseconds: Int {
        Int(max(0, components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
    }
}
