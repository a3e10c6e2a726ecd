import PostriderCaptures
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTLS
import PostriderTransport

/// The server of `postrider dev --upstream`, to which requests are passed on over HTTP/2 and TLS.
struct UpstreamServer: Upstream {
    private let server: Server

    var place: String { server.place }

    /// The server that the user names; nil without `--upstream`.
    init?(_ options: ParsedOptions) throws {
        guard let text = options.string("upstream") else {
            if let other = ["upstream-ca", "upstream-name"].first(where: options.isSet) {
                throw options.error("--\(other) goes with --upstream; give both")
            }
            return nil
        }
        let destination: Destination
        do throws(TransportError) {
            destination = try Destination(text)
        } catch {
            throw options.error(error.description)
        }
        guard destination.host != nil else {
            throw options.error(
                "--upstream must be a host and a port such as relay.example.net:2197, not '\(text)'")
        }
        do throws(CryptoError) {
            let tls = try TLSContext.client(trustFile: options.string("upstream-ca"), alpn: ["h2"])
            server = Server(destination, tls: tls, name: options.string("upstream-name"))
        } catch {
            throw CommandFailure("\(error).")
        }
    }

    func makeConnection(on scheduler: any Scheduler) -> any UpstreamConnection {
        guard let loop = scheduler as? EventLoop else {
            preconditionFailure("a relay that listens has event loops")
        }
        return UpstreamClient(server, on: loop)
    }

    static let options: [Option] = [
        .value(
            "upstream", "HOST:PORT",
            "Pass the requests of providers on to this server, another relay or APNs, unless a rule decides "
                + "about them; captures have its answers."),
        .file(
            "upstream-ca",
            "The certificate authority to trust for --upstream, PEM; if not given, those of this system."),
        .value("upstream-name", "NAME", "The name in the certificate of --upstream, if it is not the host."),
    ]
}

/// Passes the requests of one provider's connection on, over one connection at a time.
private final class UpstreamClient: UpstreamConnection {
    private let server: Server
    private unowned let loop: EventLoop
    private var client: RequestClient?
    /// Clients whose server takes no further requests, and still answers earlier ones.
    private var retired: [RequestClient] = []

    /// How often a request is sent that the server has not processed.
    private static let mostAttempts = 3

    init(_ server: Server, on loop: EventLoop) {
        self.server = server
        self.loop = loop
    }

    func send(_ request: UpstreamRequest, completion: @escaping (UpstreamResult) -> Void) {
        send(request, attempt: 1, completion)
    }

    private func send(
        _ request: UpstreamRequest, attempt: Int, _ completion: @escaping (UpstreamResult) -> Void
    ) {
        let used = usableClient()
        do throws(ClientError) {
            try used.send(
                used.makeHead(request), body: request.body, timeoutMilliseconds: Limits.upstreamMilliseconds
            ) { [weak self, weak used] result in
                // A provider that has left needs no answer.
                guard let self, let used else { return }
                ended(result, of: request, attempt: attempt, on: used, completion)
            }
        } catch {
            completion(UpstreamResult(.failure(error)))
        }
    }

    private func ended(
        _ result: Result<RequestClient.Response, ClientError>, of request: UpstreamRequest, attempt: Int,
        on used: RequestClient, _ completion: @escaping (UpstreamResult) -> Void
    ) {
        if case .failure(.unprocessed) = result, attempt < Self.mostAttempts {
            retire(used)
            send(request, attempt: attempt + 1, completion)
        } else {
            completion(UpstreamResult(result))
        }
        // A client that takes no requests and has none left is of no use.
        if used !== client, used.openRequests == 0 { used.close() }
    }

    private func usableClient() -> RequestClient {
        if let client, client.takesRequests { return client }
        if let client { retire(client) }
        var bounds = RequestClient.Bounds()
        bounds.connectMilliseconds = Limits.upstreamConnectMilliseconds
        bounds.requestsWaiting = Int(Limits.providerStreams)
        let made = RequestClient(to: server, on: loop, bounds: bounds)
        made.onClose = { [unowned self, unowned made] _ in
            if client === made { client = nil }
            retired.removeAll { $0 === made }
        }
        client = made
        return made
    }

    private func retire(_ used: RequestClient) {
        guard client === used else { return }
        client = nil
        retired.append(used)
    }
}

extension RequestClient {
    /// The head of a request to this server that has the fields of another one.
    fileprivate func makeHead(_ request: UpstreamRequest) -> HeaderBlock {
        var head = makeHead(request.method, request.path)
        for field in request.fields {
            if Self.changing.contains(field.name) {
                head.addUnindexed(field.name, field.value)
            } else {
                head.add(field.name, field.value)
            }
        }
        return head
    }

    /// Fields whose values differ in each request, or are secret.
    private static let changing: Set<String> = ["apns-collapse-id", "apns-id", "authorization"]
}

extension UpstreamResult {
    fileprivate init(_ result: Result<RequestClient.Response, ClientError>) {
        switch result {
        case .success(let response):
            var fields: [Capture.Field] = []
            response.head.forEach { name, value in
                let field = Capture.Field(
                    name: String(decoding: Array(copying: name), as: UTF8.self),
                    value: String(decoding: Array(copying: value), as: UTF8.self))
                if !field.name.hasPrefix(":") { fields.append(field) }
            }
            self = .response(status: response.status, fields: fields, body: response.body)
        case .failure(.reset(let errorCode)): self = .reset(errorCode: errorCode)
        case .failure(let error):
            switch error {
            case .notConnected, .unprocessed, .overloaded: self = .notSent(error.description)
            case .disconnected, .timedOut, .responseTooLarge, .reset: self = .lost(error.description)
            }
        }
    }
}
