internal import CPostriderLinux
internal import Glibc

/// A listening socket on one loop. Several loops may listen on the same TCP address; the kernel distributes the
/// connections among them (SO_REUSEPORT).
public final class Listener: EventSource {
    private static let acceptsPerTurn = 64
    /// How long the listener stops accepting when the process has no descriptor left, in milliseconds.
    private static let restMilliseconds = 100

    /// The address it listens on, with the port that the kernel chose if the port was 0.
    public let address: SocketAddress
    /// The numbers of its connections since it was made.
    public private(set) var counts = ListenerCounts()

    /// Whether the service manager owns the socket, and the file of a Unix socket. Its queue has the connections of all
    /// loops, so each accepts only one in a turn.
    private let isInherited: Bool
    private var descriptor: Descriptor?
    private var loop: EventLoop?
    private var token: EventLoop.Token = 0
    /// How its connections begin, and what they may use.
    private let terms: (tls: RenewableTLS?, limits: ConnectionLimits)
    private let descriptorCeiling: Int
    private var rest: (any LoopTimer)?
    /// Counts and limits connections by source; nil for no limits. It must be set before the first turn.
    public var gate: ConnectionLimiter?
    /// Whether thousands of clients may connect at once. If true, handshakes are deferred
    /// (``EventLoop/runDeferred()``), and no more are under way than the loop's ``EventLoop/pace`` allows. It must be
    /// set before the first turn.
    public var isPaced = false {
        didSet {
            guard let loop, let number = descriptor?.number else { return }
            loop.watches.setDeferred(Int(number), isPaced)
        }
    }
    /// Whether the peer of each connection gets its ``Peer/tls``. It must be set before the first turn.
    public var recordsTLSDetails = false
    /// The load balancers whose connections begin with a header of the PROXY protocol, which says whose they are. They
    /// must send it. No header of another source is read. Nil for a listener that has none.
    public var loadBalancers: NetworkList?
    /// Is told what becomes of connections that are accepted. It must be set before the first turn.
    public var observer: (any ListenerObserver)?
    private var pace: HandshakeLimiter? { isPaced ? loop?.pace : nil }
    /// Makes the handler of a connection; nil refuses the connection.
    let makeSession: (Peer) -> (any ConnectionHandler)?

    init(
        _ descriptor: consuming Descriptor, at address: SocketAddress, isInherited: Bool, on loop: EventLoop,
        tls: RenewableTLS?, limits: ConnectionLimits,
        makeSession: @escaping (Peer) -> (any ConnectionHandler)?
    ) throws(SystemError) {
        let number = descriptor.number
        self.address = address
        self.isInherited = isInherited
        self.descriptor = consume descriptor
        self.loop = loop
        terms = (tls, limits)
        self.makeSession = makeSession
        descriptorCeiling = Descriptors.limit - limits.descriptorReserve
        token = try loop.watch(number, .readable, .source(self))
        rest = loop.makeTimer { [unowned self] in watch(.readable) }
    }

    /// Stops listening. Accepted connections stay open. The file of a Unix socket is removed.
    public func close() {
        guard let loop, let number = descriptor?.number else { return }
        rest = nil
        loop.unwatch(number)
        descriptor = nil
        self.loop = nil
        if !isInherited, let path = address.unixPath { _ = unsafe unlink(path) }
    }

    package func loopStopped() { close() }

    package func ready(_ readiness: Readiness) {
        // Connections that are not accepted now wait in the kernel's queue, which is bounded.
        for _ in 0..<(isPaced || isInherited ? 1 : Self.acceptsPerTurn) {
            guard let number = descriptor?.number else { return }
            var origin = sockaddr_storage()
            switch Socket.accept(number, from: &origin) {
            case .done(let accepted):
                let start = pace == nil ? 0 : EventLoop.read(CLOCK_MONOTONIC)
                take(Descriptor(owning: Int32(accepted)), from: origin)
                pace?.spend(EventLoop.read(CLOCK_MONOTONIC) - start)
            case .wouldBlock: return
            case .failed(let error):
                guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.number) else { continue }
                watch([])
                rest?.arm(afterMilliseconds: Self.restMilliseconds)
                return
            }
        }
    }

    /// A connection has got its session.
    func connectionOpened() { counts.opening -= 1 }

    func connectionFailed(_ reason: CloseReason, _ peer: Peer) {
        counts.opening -= 1
        counts.failed += 1
        observer?.failed(reason, peer)
    }

    /// The kernel gives out the lowest free descriptor number, so a number near the limit means that nearly all
    /// descriptors are in use.
    private func take(_ accepted: consuming Descriptor, from origin: sockaddr_storage) {
        let remote = address.unixPath == nil ? SocketAddress(origin) : nil
        guard let loop, Int(accepted.number) < descriptorCeiling else { return refuse(.descriptors, remote) }
        guard pace?.mayBegin ?? true else { return refuse(.handshakes, remote) }
        // A load balancer's connection counts as its client's, so it is admitted when that is known.
        let isForwarded = remote.flatMap { loadBalancers?.contains($0) } ?? false
        var ticket: ConnectionPermit?
        let source = remote.flatMap { ConnectionLimiter.Source($0) }
        if !isForwarded {
            do {
                ticket = try admit(source)
            } catch {
                return refuse(error, remote)
            }
        }
        let number = accepted.number
        let credentials = address.unixPath == nil ? nil : Socket.credentials(number)
        let peer = Peer(address: text(remote), source: source, credentials: credentials)
        do {
            let stream = try terms.tls.map { try $0.draw().accept(number) }
            let opening = ConnectionOpening(
                isForwarded ? .introducing(Introduction()) : .handshaking, by: self)
            let connection = try Connection(
                accepted, opening, on: loop, tls: stream, peer: peer, limits: terms.limits,
                isDeferrable: isPaced && stream != nil)
            counts.accepted += 1
            counts.opening += 1
            connection.ticket = ticket
            opening.begin(connection)
        } catch {
            refuse(.descriptors, remote)
        }
    }

    /// Admits a connection of a load balancer that has said whose connection it is; nil if it is its own.
    ///
    /// - Returns: false if it was refused, which is counted and told.
    func introduced(_ connection: Connection, as client: SocketAddress?) -> Bool {
        if let client {
            connection.peer = Peer(address: client.description, source: ConnectionLimiter.Source(client))
        }
        do throws(Refusal) {
            // While the header was on its way, other handshakes may have begun.
            guard pace?.mayBegin ?? true else { throw Refusal.handshakes }
            connection.ticket = try admit(connection.peer.source)
            return true
        } catch {
            counts.opening -= 1
            refuse(error, connection.peer)
            return false
        }
    }

    private func admit(_ source: ConnectionLimiter.Source?) throws(Refusal) -> ConnectionPermit? {
        guard let gate, let source, let loop else { return nil }
        return try gate.admit(source, now: loop.now)
    }

    private func refuse(_ refusal: Refusal, _ remote: SocketAddress?) {
        refuse(refusal, Peer(address: text(remote), source: remote.flatMap { ConnectionLimiter.Source($0) }))
    }

    private func refuse(_ refusal: Refusal, _ peer: Peer) {
        counts.refused += 1
        observer?.refused(refusal, peer)
    }

    private func text(_ remote: SocketAddress?) -> String {
        address.unixPath == nil ? remote?.description ?? "unknown" : address.description
    }

    private func watch(_ interest: Readiness) {
        guard let loop, let number = descriptor?.number else { return }
        loop.watches.change(number, interest, token)
    }
}
