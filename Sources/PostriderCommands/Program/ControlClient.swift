import FoundationEssentials
import PostriderClients
package import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
package import PostriderTransport

/// A client of a control socket: the relay's (`docs/reference/control.md`) or the agent's (`docs/operate/agent.md`).
package struct ControlClient: Sendable {
    /// The program that listens on the socket.
    package enum Party: String {
        case relay, agent

        /// The option that names its socket.
        package var option: String { self == .relay ? "--control" : "--socket" }
    }

    /// The address of the socket.
    package let address: SocketAddress
    /// The program, for error sentences.
    package var party = Party.relay
    /// What the answers have lacked so far, which was printed.
    package let gaps = AnswerGaps()

    /// Creates a client of the socket at this address.
    package init(address: SocketAddress, party: Party = .relay) {
        self.address = address
        self.party = party
    }

    private struct Refusal: Decodable {
        let sentence: String
    }

    /// Makes one request and returns the body of the response.
    ///
    /// - Parameter timeoutSeconds: how long the response may take.
    /// - Throws: ``CommandFailure`` with the server's sentence if it refuses the request, or with one that says that
    ///   it is not running.
    package func request(
        _ method: String, _ path: String, body: [UInt8] = [], timeoutSeconds: Int = 10
    ) async throws -> [UInt8] {
        let response = try await response(to: method, path, body, timeoutSeconds)
        if let gap = response.head.text(of: "postrider-incomplete") { gaps.note(gap) }
        guard response.status != 200 else { return response.body }
        let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
        throw CommandFailure(
            refusal?.sentence
                ?? "The \(party) at \(address) answered \(response.status) and did not say why.",
            exitCode: response.status == 400 ? 2 : 1)
    }

    /// Gets the resource at a path, decoded and as text.
    package func list<Item: Decodable>(_ path: String, of type: Item.Type) async throws -> (
        item: Item, text: String
    ) {
        let body = try await request("GET", path)
        do {
            return (
                try JSONDecoder().decode(Item.self, from: Data(body)), String(decoding: body, as: UTF8.self)
            )
        } catch {
            throw CommandFailure(
                "The \(party) at \(address) speaks another version: use the program that it is of."
            )
        }
    }

    /// Deletes the resources at these paths over one connection, with concurrent requests.
    ///
    /// - Returns: how many may still exist.
    package func delete(_ paths: [String], withinSeconds seconds: Int) async throws -> Int {
        guard !paths.isEmpty else { return 0 }
        return try await LoopThread.run("control") { [address] loop in
            var bounds = RequestClient.Bounds()
            bounds.requestsWaiting = paths.count
            let client = RequestClient(to: Server(socket: address), on: loop, bounds: bounds)
            var (open, left) = (paths.count, 0)
            for path in paths {
                try client.send(client.makeHead("DELETE", path), timeoutMilliseconds: seconds * 1000) {
                    [unowned loop] result in
                    // Another client may have deleted it before.
                    if case .success(let answer) = result, [200, 404].contains(answer.status) {
                    } else {
                        left += 1
                    }
                    open -= 1
                    if open == 0 { loop.stop() }
                }
            }
            return { withExtendedLifetime(client) { left } }
        }
    }

    /// Makes one gRPC call with one message, and returns the first message of the response.
    ///
    /// - Throws: ``CommandFailure``, as ``request(_:_:body:timeoutSeconds:)``.
    package func call<Answer: CourierMessage>(
        _ method: CourierMethod, _ message: some CourierMessage, for type: Answer.Type
    ) async throws -> Answer {
        var body: [UInt8] = []
        MessageFraming.frame(message, into: &body)
        let fields = [("content-type", "application/grpc"), ("te", "trailers")]
        let response = try await response(to: "POST", method.rawValue, body, 10, fields)
        let last = response.trailers ?? response.head
        guard last.text(of: "grpc-status") == String(GRPCStatus.ok.rawValue) else {
            let sentence = last.value(of: "grpc-message").map { GRPCMessage.decode($0.span) } ?? ""
            throw CommandFailure(
                sentence.isEmpty
                    ? "The \(party) at \(address) refused the call and did not say why." : sentence)
        }
        do throws(CourierError) {
            var framing = MessageFraming(maxMessageBytes: Limits.controlAnswerBytes)
            framing.feed(response.body.span)
            if let answer = try framing.next(type) { return answer }
            throw CourierError.truncated
        } catch {
            throw CommandFailure(
                "The \(party) at \(address) speaks another version: use the program that it is of.")
        }
    }

    private func response(
        to method: String, _ path: String, _ body: [UInt8], _ timeoutSeconds: Int,
        _ fields: [(name: String, value: String)] = []
    ) async throws -> RequestClient.Response {
        switch try await send(method, path, body, timeoutSeconds, fields) {
        case .success(let response): return response
        case .failure(.notConnected(let reason)):
            throw CommandFailure(
                "No \(party) answers at \(address) (\(reason)): start it, name its socket with "
                    + "\(party.option), or ask as root or its own user.")
        case .failure(.disconnected), .failure(.unprocessed):
            throw CommandFailure(
                "The \(party) at \(address) ended the connection: only root and its own user may use it."
            )
        case .failure(let error):
            throw CommandFailure("The \(party) at \(address) did not answer: \(error).")
        }
    }

    /// Opens one connection for these requests, on a thread that ends with it.
    private func send(
        _ method: String, _ path: String, _ body: [UInt8], _ timeoutSeconds: Int,
        _ fields: [(name: String, value: String)]
    ) async throws -> Result<RequestClient.Response, ClientError> {
        try await LoopThread.run("control") { [address] loop in
            var bounds = RequestClient.Bounds()
            bounds.responseBytes = Limits.controlAnswerBytes
            let client = RequestClient(to: Server(socket: address), on: loop, bounds: bounds)
            var answer: Result<RequestClient.Response, ClientError>?
            var head = client.makeHead(method, path)
            for field in fields { head.add(field.name, field.value) }
            try client.send(head, body: body, timeoutMilliseconds: timeoutSeconds * 1000) {
                [unowned loop] result in
                answer = result
                loop.stop()
            }
            return { withExtendedLifetime(client) { answer ?? .failure(.unprocessed) } }
        }
    }
}
