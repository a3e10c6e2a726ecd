import PostriderSystem
import PostriderTransport

/// The second thread of a worker. It connects devices and does their TLS handshakes, each of which keeps a processor
/// busy for a millisecond. Meanwhile the worker's own thread, which has priority, measures pushes and takes over the
/// established connections.
final class Connector {
    /// A command to the connector.
    enum Order: Sendable {
        /// Connect a device, by its index.
        case connect(device: Int)
        /// The worker has ended.
        case end
    }

    /// The outcome of one connection; every `connect` gets exactly one.
    struct Greeting: Sendable {
        let device: Int
        let outcome: Outcome
    }

    enum Outcome: Sendable {
        case connected(DetachedConnection)
        case failed(CloseReason)
    }

    private let loop: EventLoop
    private let port: LoadTarget.DevicePort
    private let sources: Int
    private let firstSource: Int
    private let greetings: Mailbox<Greeting>
    /// Devices whose turn has not come; those before `firstWaiting` are done.
    private var waiting: [Int] = []
    private var firstWaiting = 0
    private var underWay = 0
    /// Handshakes that are under way at once. A thousand would all be slow to answer, and the server's handshake
    /// timeout would end them.
    private let most: Int
    /// Limits how many connections begin in a second; nil if there is no limit.
    private var pace: ConnectPace?
    /// Fires when the pace allows the next connection.
    private var pacer: PreciseTimer?

    private init(
        _ setup: WorkerSetup, _ port: LoadTarget.DevicePort, on loop: EventLoop,
        _ greetings: Mailbox<Greeting>
    ) throws(TransportError) {
        self.loop = loop
        self.port = port
        self.greetings = greetings
        firstSource = setup.index
        let part = LoadRun.part(of: setup.fleet.handshakes, for: setup.index, of: setup.fleet.threads)
        most = max(1, part)
        sources = port.address.host?.hasPrefix("127.") == true ? setup.fleet.sources : 1
        guard let rate = setup.fleet.connectionsPerSecond else { return }
        pace = ConnectPace(perSecond: Double(rate) / Double(setup.fleet.threads))
        pacer = try loop.makePreciseTimer { [unowned self] in connectNext() }
    }

    /// Starts the thread, and returns the mailbox for its orders.
    /// - Parameter greetings: gets the outcomes. A device may be named again once its last outcome has arrived.
    static func start(
        _ setup: WorkerSetup, _ port: LoadTarget.DevicePort, greetings: Mailbox<Greeting>
    ) throws(TransportError) -> Mailbox<Order> {
        let orders = try Mailbox<Order>(capacity: setup.devices + 1)
        _ = try Thread.spawn(name: "load-\(setup.index)-hands", processor: setup.processor) {
            Thread.stepBack()
            do throws(TransportError) {
                let loop = try EventLoop()
                let connector = try Connector(setup, port, on: loop, greetings)
                try loop.attach(orders) { [unowned connector] orders in
                    for order in orders { connector.obey(order) }
                }
                loop.turnEnded = { [unowned connector] in connector.connectNext() }
                loop.run()
                withExtendedLifetime(connector) {}
            } catch {
                setup.report(.failed(error.description))
            }
        }
        return orders
    }

    private func obey(_ order: Order) {
        switch order {
        case .connect(let device): waiting.append(device)
        case .end: loop.stop()
        }
    }

    private func connectNext() {
        while underWay < most, firstWaiting < waiting.count, mayConnect() {
            let device = waiting[firstWaiting]
            firstWaiting += 1
            underWay += 1
            loop.connect(
                to: port.address, tls: (port.tls, port.name), from: origin(of: device), limits: .storm,
                session: Handshake(of: device, by: self))
        }
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        }
    }

    /// Whether the pace allows one more connection now.
    private func mayConnect() -> Bool {
        guard pace?.take(at: EventLoop.monotonicNanoseconds) == false else { return true }
        pacer?.arm(at: pace?.next)
        return false
    }

    fileprivate func greet(_ device: Int, _ outcome: Outcome) {
        underWay -= 1
        precondition(
            greetings.post(Greeting(device: device, outcome: outcome)), "bug: a device is greeted twice")
    }

    /// The address that a device connects from: one address has a limited number of ports.
    private func origin(of device: Int) -> SocketAddress? {
        guard sources > 1 else { return nil }
        let number = (device + firstSource) % sources + 1
        return try? SocketAddress(host: "127.0.\(number / 250).\(number % 250 + 1)", port: 0)
    }
}

/// Handles a connection until its handshake is done.
private final class Handshake: ConnectionHandler {
    private let device: Int
    private unowned let connector: Connector

    init(of device: Int, by connector: Connector) {
        self.device = device
        self.connector = connector
    }

    func opened(on wire: any ConnectionOutput) {
        guard let crate = (wire as? Connection)?.detach() else {
            preconditionFailure("bug: it has just opened")
        }
        connector.greet(device, .connected(crate))
    }

    func closed(_ reason: CloseReason) { connector.greet(device, .failed(reason)) }

    // Nothing can arrive before the connection has moved to the worker's thread.
    func received(_ bytes: Span<UInt8>) {}
    func inputEnded() {}
    func flush(into output: inout [UInt8]) {}
}

extension ConnectionLimits {
    /// A slow server in a storm is what is measured, so timeouts are long.
    fileprivate static var storm: ConnectionLimits {
        var limits = ConnectionLimits.client
        limits.handshakeMilliseconds = 30_000
        return limits
    }
}
