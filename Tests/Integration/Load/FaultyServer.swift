import Foundation
import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderEndpoints
import PostriderHTTP2
import PostriderLoad
import PostriderNotifications
import PostriderSystem
import PostriderTLS
import PostriderTransport

/// A server that accepts and delivers pushes like a relay, but treats some of them wrongly. It stores nothing, checks
/// nothing, and has one port for providers and devices.
final class FaultyServer {
    /// The treatment of a push that was answered with 200, or of a broadcast at its first device.
    enum Fault: Sendable {
        case none, lose, double, alter, misdeliver
        /// The push is held back until the device has said goodbye.
        case linger
        /// The push is delivered, and again over the device's next link.
        case again
        /// The push is delivered, and its provider's connection ends after the answer.
        case hangUp
    }

    /// What the server grants devices.
    struct Terms: Sendable {
        var keepalive: UInt32 = 60
        var window: UInt32 = 64
        /// The number of enrolments that it refuses before the first success.
        var refusals = 0
        /// The number of pushes after which the server closes its connections.
        var answers = Int.max
    }

    fileprivate let fault: @Sendable (Int) -> Fault
    fileprivate var terms: Terms
    fileprivate var accepted = 0
    private var leave: () -> Void = {}
    fileprivate var enrolled = 0
    /// The links, by device.
    fileprivate var links: [Int: FaultySession] = [:]
    /// The pushes to deliver again, by device.
    fileprivate var copies: [Int: [FaultySession.Request]] = [:]

    private init(_ fault: @escaping @Sendable (Int) -> Fault, _ terms: Terms) {
        self.fault = fault
        self.terms = terms
    }

    /// Runs a server on its own thread while `body` uses it.
    ///
    /// - Parameter fault: returns the treatment of each accepted push, by its number from 0.
    static func run<Result>(
        _ fault: @escaping @Sendable (Int) -> Fault = { _ in .none }, terms: Terms = Terms(),
        _ body: (LoadTarget) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "load-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ text: String, _ name: String) throws -> String {
            let file = folder.appending(path: name)
            try Data(text.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            return file.path
        }
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let leaf = try Certificates.issue(
            commonName: "localhost", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], usage: .server,
            validDays: 1, authority: authority)
        let serverTLS = try TLSContext.server(
            certificateChainFile: write(leaf.certificate, "chain.pem"),
            privateKeyFile: write(leaf.key, "key.pem"),
            alpn: ["h2"], allowsMissingALPN: false, clientCertificates: .none)
        let clientTLS = try TLSContext.client(
            trustFile: write(authority.certificate, "ca.pem"), alpn: ["h2"])
        let stop = try Mailbox<Bool>(capacity: 1)
        let address = try await start(serverTLS, stop, fault, terms)
        defer { stop.postEvenIfFull(true) }
        guard let topic = Topic("org.example.app") else { preconditionFailure("that is a topic") }
        return try await body(
            LoadTarget(
                provider: .address(address), providerTLS: clientTLS, providerName: "127.0.0.1", signer: nil,
                topics: [topic],
                devices: .init(address: address, tls: clientTLS, name: "127.0.0.1", enrolmentKey: "key")))
    }

    private static func start(
        _ tls: TLSContext, _ stop: Mailbox<Bool>, _ fault: @escaping @Sendable (Int) -> Fault,
        _ terms: Terms
    ) async throws -> SocketAddress {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try Thread.spawn(name: "faulty") {
                    do {
                        let (server, loop) = (FaultyServer(fault, terms), try EventLoop())
                        let listener = try loop.listen(SocketAddress("127.0.0.1:0"), tls: tls) { _ in
                            FaultySession(of: server).endpoint
                        }
                        try loop.attach(stop) { [unowned loop] _ in loop.stop() }
                        server.leave = { [unowned loop] in loop.stop() }
                        continuation.resume(returning: listener.address)
                        loop.run()
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    fileprivate func take(_ request: FaultySession.Request) {
        guard request.path.hasPrefix("/4/broadcasts/") else { return push(request) }
        for link in links.values { broadcast(request, to: link) }
        accepted += 1
    }

    private func broadcast(_ request: FaultySession.Request, to link: FaultySession) {
        switch fault(accepted) {
        case .lose where link === links[0]: break
        case .double where link === links[0]:
            link.deliver(request, isBroadcast: true)
            link.deliver(request, isBroadcast: true)
        default: link.deliver(request, isBroadcast: true)
        }
    }

    private func push(_ request: FaultySession.Request) {
        let digits = request.path.dropFirst("/3/device/".count).prefix(8)
        guard request.path.hasPrefix("/3/device/"), let device = Int(digits, radix: 16),
            let link = links[device]
        else { return }
        defer {
            accepted += 1
            if accepted == terms.answers { leave() }
        }
        switch fault(accepted) {
        case .none, .hangUp: link.deliver(request)
        case .lose: break
        case .double:
            link.deliver(request)
            link.deliver(request)
        case .alter:
            var altered = request
            altered.body[altered.body.count / 2] ^= 1
            link.deliver(altered)
        case .misdeliver: links[device == 0 ? 1 : 0]?.deliver(request)
        case .linger: link.lingering.append(request)
        case .again:
            link.deliver(request)
            copies[device, default: []].append(request)
        }
    }
}

/// A connection of a provider or a device; its requests tell which.
private final class FaultySession: EndpointOwner {
    struct Request {
        var path: String
        var identity: NotificationIdentity?
        var body: [UInt8] = []
    }

    private let server: FaultyServer
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: SessionSettings(), owner: self)
    private var requests: [Int32: Request] = [:]
    private var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
    private var link: Int32?
    private var delivery: UInt64 = 0
    var lingering: [Request] = []

    init(of server: FaultyServer) { self.server = server }

    func deliver(_ request: Request, isBroadcast: Bool = false) {
        guard let identity = request.identity else { return }
        if !isBroadcast { delivery += 1 }
        let message = Deliver(
            delivery: isBroadcast ? 0 : delivery, identity: identity, topic: "org.example.app",
            payload: request.body, priority: .immediate, expiration: .nowOrNever, collapseIdentifier: nil,
            pushType: nil, acceptedAt: Moment(milliseconds: 1))
        say(isBroadcast ? RelayMessage.broadcast(message) : .deliver(message))
    }

    private func say(_ message: some CourierMessage, on stream: Int32? = nil) {
        guard let stream = stream ?? link else { return }
        var frame: [UInt8] = []
        MessageFraming.frame(message, into: &frame)
        endpoint.streams.send(stream, frame.span)
    }

    func opened() {}

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        let identity = block.value(of: "apns-id").flatMap { NotificationIdentity(text: $0.span) }
        let request = Request(path: block.text(of: ":path") ?? "", identity: identity)
        requests[stream] = request
        guard request.path == CourierMethod.connect.rawValue else { return }
        link = stream
        endpoint.streams.openResponse(stream, [":status": "200", "content-type": "application/grpc"])
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard stream == link else {
            requests[stream]?.body.append(copying: bytes)
            return
        }
        framing.feed(bytes)
        while let message = try? framing.next(DeviceMessage.self) {
            switch message {
            case .hello(let hello):
                server.links[Int(hello.deviceIdentity.low)] = self
                number = Int(hello.deviceIdentity.low)
                say(
                    RelayMessage.welcome(
                        Welcome(
                            keepaliveSeconds: server.terms.keepalive, window: server.terms.window,
                            registrations: [], pending: 0)))
                for copy in server.copies.removeValue(forKey: number) ?? [] { deliver(copy) }
            case .register(let topic, _):
                let token =
                    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
                    + [UInt8](repeating: 9, count: 28)
                guard let token = DeviceToken(bytes: token) else { continue }
                say(RelayMessage.registered(Registered(topic: topic, deviceToken: token)))
            case .subscribe(let wish): say(RelayMessage.subscribed(wish.channel))
            case .goodbye:
                for request in lingering { deliver(request) }
                endpoint.streams.finish(stream, trailers: ["grpc-status": "0"])
            default: break
            }
        }
    }

    private var number = 0

    func ended(_ stream: Int32) {
        guard let request = requests.removeValue(forKey: stream), stream != link else { return }
        if request.path == CourierMethod.enroll.rawValue, server.terms.refusals > 0 {
            server.terms.refusals -= 1
            endpoint.streams.respond(
                stream, [":status": "200", "content-type": "application/grpc", "grpc-status": "14"])
        } else if request.path == CourierMethod.enroll.rawValue {
            let identity = DeviceIdentity(high: 1, low: UInt32(server.enrolled))
            server.enrolled += 1
            endpoint.streams.openResponse(stream, [":status": "200", "content-type": "application/grpc"])
            say(
                EnrollResponse(deviceIdentity: identity, deviceSecret: [UInt8](repeating: 1, count: 32)),
                on: stream)
            endpoint.streams.finish(stream, trailers: ["grpc-status": "0"])
        } else {
            var answer: HeaderBlock = [":status": "200"]
            if request.path.hasPrefix("/1/apps/") {
                answer.add("apns-channel-id", "\(ChannelIdentity(high: 1, low: 2))")
            }
            endpoint.streams.respond(stream, answer)
            let fault = server.fault(server.accepted)
            server.take(request)
            if fault == .hangUp { endpoint.close(.localClose) }
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) { requests[stream] = nil }
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func disconnected(_ reason: CloseReason) { server.links = server.links.filter { $0.value !== self } }
}
