import PostriderProxies

/// A connection attempt under way; see ``EventLoop/dial(_:resolver:tls:through:timeoutMilliseconds:limits:session:)``.
public struct Dialing {
    fileprivate let dialer: Dialer

    /// Gives up if the connection is not established yet. The handler then gets `closed(.localClose)`.
    public func cancel() { dialer.cancel() }
}

extension EventLoop {
    /// Connects to a host by its name, or to an address. The addresses of a name race with each other according to
    /// RFC 8305, so that one that does not answer causes no long delay. `session` gets the outcome as if it had
    /// connected itself, and never before this call returns.
    /// - Parameters:
    ///   - resolver: resolves a host name.
    ///   - tls: the TLS provider, and the name for which the server's certificate must be valid; nil for no TLS.
    ///   - proxy: the proxy through which to connect; nil for a direct connection. The proxy looks up the host of the
    ///     destination, and the addresses of the proxy race. The destination must use TLS and be no Unix socket.
    ///   - timeoutMilliseconds: the limit for the TCP connection to each address, and once more for the answer of the
    ///     proxy. The limit for the TLS handshake is in `limits`.
    public func dial(
        _ destination: Destination, resolver: any HostResolver,
        tls: (context: any TLSProvider, serverName: String)? = nil, through proxy: Proxy? = nil,
        timeoutMilliseconds: Int = 10_000, limits: ConnectionLimits = .client, session: any ConnectionHandler
    ) -> Dialing {
        let tunnel = proxy.map { proxy in
            guard let tls, let target = TunnelTarget(destination) else {
                preconditionFailure("bug: a tunnel leads to a server behind TLS")
            }
            return Tunnel(proxy: proxy, target: target, tls: tls, timeoutMilliseconds: timeoutMilliseconds)
        }
        let dialer = Dialer(
            for: session, on: self, scheduler: self, staggerMilliseconds: limits.attemptMilliseconds
        ) { [unowned self] address, attempt in
            connect(
                to: address, tls: tunnel == nil ? tls : nil, timeoutMilliseconds: timeoutMilliseconds,
                limits: limits,
                session: tunnel.map { TunnelHandler($0, for: attempt, scheduler: self) } ?? attempt)
        }
        switch proxy?.destination ?? destination {
        case .address(let address): dialer.begin([address])
        case .host(let name, let port): dialer.lookUp(name, port: port, resolver)
        }
        return Dialing(dialer: dialer)
    }
}

/// Makes the attempts of one ``ConnectionRace`` and hands the resulting connection to its handler.
final class Dialer {
    typealias Connect = (SocketAddress, DialAttempt) -> (any ConnectionOutput)?

    private unowned let loop: EventLoop
    private let connect: Connect
    private let staggerMilliseconds: Int
    /// The handler; nil as soon as it has been told the outcome.
    private var session: (any ConnectionHandler)?
    private var lookup: (any HostQuery)?
    private var race: ConnectionRace?
    private var attempts: [Int: DialAttempt] = [:]
    private var stagger: (any LoopTimer)?

    init(
        for session: any ConnectionHandler, on loop: EventLoop, scheduler: any Scheduler,
        staggerMilliseconds: Int,
        connect: @escaping Connect
    ) {
        self.session = session
        self.loop = loop
        self.staggerMilliseconds = staggerMilliseconds
        self.connect = connect
        stagger = scheduler.makeTimer { [weak self] in self?.proceed { $0.next() } }
    }

    /// Resolves a host name and starts the race between its addresses.
    func lookUp(_ host: String, port: UInt16, _ resolver: any HostResolver) {
        do throws(TransportError) {
            lookup = try resolver.lookUp(host, port: port, on: loop) { [self] answer in
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

    /// Starts the race between these addresses.
    func begin(_ addresses: [SocketAddress]) {
        race = ConnectionRace(addresses)
        proceed { $0.next() }
    }

    func cancel() {
        lookup?.cancel()
        lookup = nil
        finish(.localClose)
    }

    /// Applies a change to the race and performs the step that it returns.
    private func proceed(_ change: (inout ConnectionRace) -> ConnectionRace.Step) {
        guard session != nil, var race else { return }
        let step = change(&race)
        self.race = race
        switch step {
        case .attempt(let number):
            let attempt = DialAttempt(number, of: self)
            attempts[number] = attempt
            attempt.wire = connect(race.addresses[number], attempt)
        case .wait: break
        case .over(let reason): return finish(reason)
        }
        if race.isStaggering {
            stagger?.arm(afterMilliseconds: staggerMilliseconds)
        } else {
            stagger?.disarm()
        }
    }

    /// Tells the handler that no connection could be established.
    private func finish(_ reason: CloseReason) {
        guard let session else { return }
        self.session = nil
        stagger = nil
        drop(Array(attempts.keys))
        loop.work.add(departed: session, reason)
    }

    private func drop(_ numbers: [Int]) {
        for number in numbers { attempts.removeValue(forKey: number)?.drop() }
    }

    // MARK: What the attempts tell

    fileprivate func connected(_ number: Int) {
        guard var race else { return }
        drop(race.connected(number))
        self.race = race
        stagger?.disarm()
    }

    fileprivate func opened(_ number: Int, on wire: any ConnectionOutput) {
        guard let session, let connection = wire as? Connection else {
            preconditionFailure("bug: a dialer opens one connection")
        }
        self.session = nil
        stagger = nil
        attempts[number] = nil
        drop(Array(attempts.keys))
        connection.session = session
        session.opened(on: wire)
    }

    fileprivate func closed(_ number: Int, _ reason: CloseReason) {
        attempts[number] = nil
        guard !loop.isStopping else { return finish(reason) }
        proceed { $0.failed(number, reason) }
    }
}

/// Takes the handler's place until a connection to one address is established, and then gives the connection to the
/// handler.
final class DialAttempt: ConnectionHandler {
    private let number: Int
    /// The dialer; nil after the attempt was dropped or has ended.
    private var dialer: Dialer?
    fileprivate var wire: (any ConnectionOutput)?

    fileprivate init(_ number: Int, of dialer: Dialer) {
        self.number = number
        self.dialer = dialer
    }

    /// Abandons the attempt.
    fileprivate func drop() {
        dialer = nil
        wire?.abort(.localClose)
        wire = nil
    }

    /// Tells the dialer that the address has answered; the TLS handshake follows.
    func connected() { dialer?.connected(number) }

    // MARK: Session

    func opened(on wire: any ConnectionOutput) {
        let dialer = dialer
        self.dialer = nil
        self.wire = nil
        dialer?.opened(number, on: wire)
    }

    func closed(_ reason: CloseReason) {
        let dialer = dialer
        self.dialer = nil
        wire = nil
        dialer?.closed(number, reason)
    }

    // An established connection belongs to the handler.
    func received(_ bytes: Span<UInt8>) { preconditionFailure("bug: a dialer holds no connection") }
    func inputEnded() { preconditionFailure("bug: a dialer holds no connection") }
    func flush(into output: inout [UInt8]) { preconditionFailure("bug: a dialer holds no connection") }
}
