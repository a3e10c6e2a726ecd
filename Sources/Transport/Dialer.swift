public import Crypto

/// A connection that is being made; see ``EventLoop/dial(_:tls:timeoutMilliseconds:limits:session:)``.
public struct Dialing {
    fileprivate let dialer: Dialer

    /// Gives up, if the connection is not established yet: the session hears `closed(.localClose)`.
    public func cancel() { dialer.cancel() }
}

extension EventLoop {
    /// Connects to a host by its name, or to an address. The addresses of a name are tried in their order
    /// until one answers. Whatever comes of it, `session` hears of it as if it had connected itself, and
    /// never before this call returns.
    /// - Parameters:
    ///   - tls: the context, and the name that the server's certificate must carry; nil: plain.
    ///   - timeoutMilliseconds: for the connection to each address; the handshake has its own, in `limits`.
    public func dial(
        _ destination: Destination, tls: (context: TLSContext, serverName: String)? = nil,
        timeoutMilliseconds: Int = 10_000, limits: ConnectionLimits = .client, session: any Session
    ) -> Dialing {
        let dialer = Dialer(for: session, on: self) { [unowned self] address, dialer in
            connect(
                to: address, tls: tls, timeoutMilliseconds: timeoutMilliseconds, limits: limits,
                session: dialer)
        }
        switch destination {
        case .address(let address): dialer.begin([address])
        case .host(let name, let port): dialer.lookUp(name, port: port)
        }
        return Dialing(dialer: dialer)
    }
}

/// Stands in for a session until a connection is established, and then leaves it the place.
final class Dialer: Session {
    typealias Connect = (SocketAddress, Dialer) -> (any Wire)?

    private unowned let loop: EventLoop
    private let connect: Connect
    /// Nil as soon as it has heard of the outcome.
    private var session: (any Session)?
    private var lookup: HostLookup?
    private var addresses: ArraySlice<SocketAddress> = []
    private var address: SocketAddress?
    /// Why those that were tried did not answer.
    private var failures: [(address: SocketAddress, reason: CloseReason)] = []
    private var wire: (any Wire)?

    init(for session: any Session, on loop: EventLoop, connect: @escaping Connect) {
        self.session = session
        self.loop = loop
        self.connect = connect
    }

    /// Asks for the addresses of a host, and begins with them.
    func lookUp(_ host: String, port: UInt16) {
        do throws(TransportError) {
            lookup = try HostLookup(host, port: port, on: loop) { [self] answer in
                lookup = nil
                switch answer {
                case .success(let addresses): begin(addresses)
                case .failure(let error): finish(.refused(error.description))
                }
            }
        } catch {
            finish(.refused(error.description))
        }
    }

    /// Tries these addresses, one after the other.
    func begin(_ addresses: [SocketAddress]) {
        self.addresses = addresses[...]
        tryNext()
    }

    func cancel() {
        addresses = []
        if let lookup {
            lookup.cancel()
            self.lookup = nil
            finish(.localClose)
        } else if session != nil {
            wire?.abort(.localClose)
        }
    }

    private func tryNext() {
        guard let address = addresses.popFirst() else { preconditionFailure("bug: no address to try") }
        self.address = address
        wire = connect(address, self)
    }

    /// The reason of all addresses where they have the same, else the reason of each.
    private var commonReason: CloseReason? {
        guard let last = failures.last?.reason, failures.contains(where: { $0.reason != last }) else {
            return failures.last?.reason
        }
        let texts = failures.map { address, reason in
            if case .refused(let why) = reason { "\(address): \(why)" } else { "\(address): \(reason)" }
        }
        return .refused(texts.joined(separator: "; "))
    }

    /// No connection comes about.
    private func finish(_ reason: CloseReason) {
        guard let session else { return }
        self.session = nil
        loop.departs(session, reason)
    }

    // MARK: Session

    func opened(on wire: any Wire) {
        guard let session, let connection = wire as? Connection else {
            preconditionFailure("bug: a dialer opens one connection")
        }
        self.session = nil
        self.wire = nil
        connection.session = session
        session.opened(on: wire)
    }

    func closed(_ reason: CloseReason) {
        wire = nil
        guard reason != .localClose, !loop.hasStopped else { return finish(reason) }
        if let address { failures.append((address, reason)) }
        if addresses.isEmpty { finish(commonReason ?? reason) } else { tryNext() }
    }

    // An established connection belongs to the session.
    func received(_ bytes: Span<UInt8>) { preconditionFailure("bug: a dialer holds no connection") }
    func inputEnded() { preconditionFailure("bug: a dialer holds no connection") }
    func flush(into output: inout [UInt8]) { preconditionFailure("bug: a dialer holds no connection") }
}
