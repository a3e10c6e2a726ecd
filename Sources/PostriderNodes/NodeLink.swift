package import PostriderCluster
package import PostriderCourier
import PostriderEndpoints
package import PostriderHTTP2
import PostriderNotifications
import PostriderTLS
package import PostriderTransport

/// One link between two nodes: a connection of HTTP/2 over mutual TLS with one stream in both directions, on which each
/// side sends a ``NodeGreeting`` and then messages, with the prefix of gRPC before each.
///
/// The node that has opened the link sends requests over it, and the other one answers them. A PING every
/// ``Limits/nodePingMilliseconds`` shows both ends that the other one is there. Confined to the thread of its loop.
package final class NodeLink: EndpointOwner {
    /// Which side this is.
    package enum Role: Equatable {
        /// It has opened the link to this node.
        case dialling(NodeName)
        /// The other node has opened it.
        case accepting
    }

    /// Why a link has ended, or was never there.
    package enum End: Equatable, CustomStringConvertible {
        /// One side refuses the other. Both know the sentence.
        case refused(NodeRefusal)
        /// The other node was silent, or did not greet, for too long.
        case silent
        /// The other node has sent something that is not the protocol.
        case broken(CourierError)
        /// The connection has ended.
        case connection(CloseReason)

        /// One sentence without a full stop.
        package var description: String {
            switch self {
            case .refused(let refusal): String(refusal.clause)
            case .silent: "the node has not answered for \(NodeLink.patienceMilliseconds) milliseconds"
            case .broken(let error): "the node does not keep to the protocol between nodes: \(error)"
            case .connection(let reason): "\(reason)"
            }
        }
    }

    let role: Role
    /// Its connection.
    private(set) lazy var endpoint = HTTP2Handler(
        role: role == .accepting ? .server : .client, settings: Self.settings, owner: self)
    /// The node at the other end, once both have greeted.
    private(set) var other: NodeName?
    private let scheduler: any Scheduler
    private weak var owner: (any NodeLinkOwner)?
    private var framing = MessageFraming(maxMessageBytes: Limits.nodeMessageBytes)
    private var stream: Int32?
    private var ending: End?
    private var timer: (any LoopTimer)?
    /// How often the timer has fired since the other side was heard.
    private var silentTicks = 0
    private var ticks = 0
    private var output: [UInt8] = []

    /// The path of the request that opens the stream.
    private static let path = "/postrider.nodes.v1.Nodes/Link"
    /// Silent intervals after which the other node is taken for dead.
    private static let patience = 3
    /// Intervals within which both sides must have greeted.
    private static let greetingTicks = 6
    /// Milliseconds of silence after which the other node is taken for dead.
    fileprivate static let patienceMilliseconds = patience * Limits.nodePingMilliseconds

    private static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 1
        settings.initialWindowSize = 1 << 20
        settings.connectionWindowSize = 1 << 20
        settings.maxOutboundBytes = Limits.nodeLinkMostBytes
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        settings.readsHeaderBlocks = false
        return settings
    }()

    init(_ role: Role, on scheduler: any Scheduler, owner: any NodeLinkOwner) {
        self.role = role
        self.scheduler = scheduler
        self.owner = owner
    }

    /// Whether so much waits for the other node that it should get no more requests.
    var isCongested: Bool { stream.map(endpoint.streams.outboundBytes) ?? 0 > Limits.nodeLinkBytes }

    /// Sends a message. Both sides must have greeted.
    func send(_ message: [UInt8]) {
        precondition(other != nil, "a node that has not greeted gets no message")
        say(OpaqueMessage(bytes: message))
    }

    /// Ends the link in order.
    func close() { endpoint.close(.localClose) }

    private func say(_ message: some CourierMessage) {
        guard let stream else { return }
        output.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &output)
        let bytes = output
        endpoint.streams.send(stream, bytes.span)
    }

    /// Ends the link with a sentence that the other node gets as the debug data of GOAWAY (RFC 9113, section 6.8).
    private func fail(_ end: End) {
        ending = ending ?? end
        endpoint.close(.protocolError("\(end)"), debug: Array("\(end)".utf8))
    }

    // MARK: The greeting

    private func greet(_ greeting: NodeGreeting) {
        guard let owner else { return endpoint.close(.localClose) }
        let own = owner.greeting
        let expected: NodeName? = if case .dialling(let name) = role { name } else { nil }
        do throws(NodeRefusal) {
            let name = try greeting.check(against: own, expected: expected) { isCertified($0) }
            if role == .accepting, let stream {
                endpoint.streams.openResponse(stream, [":status": "200"])
                say(own)
            }
            other = name
            owner.opened(self, with: name)
        } catch {
            fail(.refused(error))
        }
    }

    /// Whether the handshake has proved the other end's name. OpenSSL has compared it if this side has dialled.
    private func isCertified(_ name: String) -> Bool {
        guard role == .accepting else { return true }
        guard let certificate = endpoint.peer?.certificate, certificate.isVerified else { return false }
        return CertificateName.matches(name, der: certificate.der)
    }

    // MARK: EndpointOwner

    package func opened() {
        let timer = scheduler.makeTimer { [unowned self] in tick() }
        self.timer = timer
        timer.arm(afterMilliseconds: Limits.nodePingMilliseconds)
        guard case .dialling(let name) = role, let owner else { return }
        let head: HeaderBlock = [
            ":method": "POST", ":scheme": "https", ":authority": name.text, ":path": Self.path,
        ]
        do throws(SessionError) {
            stream = try endpoint.streams.openRequest(head)
            say(owner.greeting)
        } catch {
            preconditionFailure("a new connection takes a request")
        }
    }

    package func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard role == .accepting, kind == .head else { return }
        let path = block.value(of: ":path") ?? []
        guard self.stream == nil, path.span.spells(Self.path) else {
            return endpoint.streams.reset(stream, errorCode: ErrorCode.refusedStream)
        }
        self.stream = stream
    }

    package func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard stream == self.stream, ending == nil else { return }
        do throws(CourierError) {
            try framing.takeAll(bytes) { message throws(CourierError) in
                guard ending == nil else { return }
                if other == nil {
                    greet(try NodeGreeting(decoding: message))
                } else {
                    if let error = owner?.received(message, over: self) { throw error }
                }
            }
        } catch {
            fail(.broken(error))
        }
    }

    package func ended(_ stream: Int32) { endpoint.close(.peerClosed) }

    package func closed(_ stream: Int32, errorCode: UInt32) {
        guard stream == self.stream else { return }
        self.stream = nil
        endpoint.close(.peerClosed)
    }

    package func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        guard !debug.isEmpty, ending == nil else { return }
        ending = .refused(NodeRefusal(quoting: debug))
    }

    package func disconnected(_ reason: CloseReason) {
        timer = nil
        stream = nil
        owner?.ended(self, ending ?? .connection(reason))
    }

    // MARK: Time

    private func tick() {
        ticks += 1
        silentTicks = endpoint.takeHeard() ? 0 : silentTicks + 1
        endpoint.streams.forgiveEmptyFrames()
        guard silentTicks < Self.patience, other != nil || ticks < Self.greetingTicks else {
            ending = ending ?? .silent
            endpoint.wire?.abort(.idleTimeout)
            return
        }
        if role != .accepting { endpoint.streams.ping() }
        timer?.arm(afterMilliseconds: Limits.nodePingMilliseconds)
    }
}

/// What a ``NodeLink`` reports to.
protocol NodeLinkOwner: AnyObject {
    /// This node's greeting.
    var greeting: NodeGreeting { get }
    /// Both nodes have greeted.
    func opened(_ link: NodeLink, with node: NodeName)
    /// The other node has sent a message. Returns what is wrong with it, which ends the link.
    func received(_ message: Span<UInt8>, over link: NodeLink) -> CourierError?
    /// The link has ended. This is the last call.
    func ended(_ link: NodeLink, _ end: NodeLink.End)
}

/// A message that is encoded already.
private struct OpaqueMessage: CourierMessage {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(decoding bytes: Span<UInt8>) {
        var copy: [UInt8] = []
        copy.append(copying: bytes)
        self.bytes = copy
    }

    func encode(into output: inout [UInt8]) { output += bytes }
}
