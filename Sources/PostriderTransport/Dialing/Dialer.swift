/// A connection that is being made; see ``EventLoop/dial(_:tls:timeoutMilliseconds:limits:session:)``.
public struct Dialing {
    fileprivate let dialer: Dialer

    /// Gives up, if the connection is not established yet: the session hears `closed(.localClose)`.
    public func cancel() { dialer.cancel() }
}

extension EventLoop {
    /// Connects to a host by its name, or to an address. The addresses of a name race with each other as RFC 8305 says:
    /// one that does not answer holds nobody up. Whatever comes of it, `session` hears of it as if it had connected
    /// itself, and never before this call returns.
    /// - Parameters:
    ///   - tls: the context, and the name that the server's certificate must carry; nil: plain.
    ///   - timeoutMilliseconds: for the connection to each address; the handshake has its own, in `limits`.
    public func dial(
        _ destination: Destination, tls: (context: any TLSProvider, serverName: String)? = nil,
        timeoutMilliseconds: Int = 10_000, limits: ConnectionLimits = .client, session: any ConnectionHandler
    ) -> Dialing {
        let dialer = Dialer(
            for: session, on: self, scheduler: self, staggerMilliseconds: limits.attemptMilliseconds
        ) { [unowned self] address, attempt in
            connect(
                to: address, tls: tls, timeoutMilliseconds: timeoutMilliseconds, limits: limits,
                session: attempt)
        }
        switch destination {
        case .address(let address): dialer.begin([address])
        case .host(let name, let port): dialer.lookUp(name, port: port)
        }
        return Dialing(dialer: dialer)
    }
}

/// Makes the attempts of one ``ConnectionRace`` and hands the connection that comes of them over to its session.
final class Dialer {
    typealias Connect = (SocketAddress, DialAttempt) -> (any ConnectionOutput)?

    private unowned let loop: EventLoop
    private let connect: Connect
    private let staggerMilliseconds: Int
    /// Nil as soon as it has heard of the outcome.
    private var session: (any ConnectionHandler)?
    private var lookup: HostLookup?
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

    /// Has these addresses race.
    func begin(_ addresses: [SocketAddress]) {
        race = ConnectionRace(addresses)
        proceed { $0.next() }
    }

    func cancel() {
        lookup?.cancel()
        lookup = nil
        finish(.localClose)
    }

    /// Lets something happen to the race, and does what follows from it.
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

    /// No connection comes about.
    private func finish(_ reason: CloseReason) {
        guard let session else { return }
        self.session = nil
        stagger = nil
        drop(Array(attempts.keys))
        loop.departs(session, reason)
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
        guard !loop.hasStopped else { return finish(reason) }
        proceed { $0.failed(number, reason) }
    }
}

/// Stands in for a session until a connection to one address is established, and then leaves it the place.
final class DialAttempt: ConnectionHandler {
    private let number: Int
    /// Nil when the attempt was dropped, or is over.
    private var dialer: Dialer?
    fileprivate var wire: (any ConnectionOutput)?

    fileprivate init(_ number: Int, of dialer: Dialer) {
        self.number = number
        self.dialer = dialer
    }

    /// Nobody waits for it any more.
    fileprivate func drop() {
        dialer = nil
        wire?.abort(.localClose)
        wire = nil
    }

    /// The address has answered; TLS comes next.
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

    // An established connection belongs to the session.
    func received(_ bytes: Span<UInt8>) { preconditionFailure("bug: a dialer holds no connection") }
    func inputEnded() { preconditionFailure("bug: a dialer holds no connection") }
    func flush(into output: inout [UInt8]) { preconditionFailure("bug: a dialer holds no connection") }
}
