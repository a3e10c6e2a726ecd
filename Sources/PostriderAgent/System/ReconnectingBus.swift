import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderTransport

/// A connection to a bus on the agent's loop that reconnects whenever it is lost: a desktop session comes and goes, and
/// so does its bus.
final class ReconnectingBus {
    /// What happens to its connections.
    enum Event {
        /// There is a new connection, which is not ready yet: the time to subscribe to signals and to make calls.
        case opened(BusConnection)
        /// The connection has ended, and its pending calls were told so.
        case lost
    }

    /// Nil if there will never be a bus.
    private let address: BusAddress?
    private unowned let loop: EventLoop
    private let log: Log
    private let random: () -> UInt64
    private var connection: BusConnection?
    private var watch: ExternalDescriptor?
    private var backoff = Backoff(baseMilliseconds: 1000, capMilliseconds: 60_000)
    private var readySince: UInt64?
    private var isInProcess = false
    /// The last error that was logged, so that a missing bus does not fill the log.
    private var lastError: BusError?
    /// Whether a connection is wanted.
    private var isWanted = false

    /// Gets the events; nil before the start.
    private var receive: ((Event) -> Void)?

    private lazy var timer = loop.makeTimer { [unowned self] in process() }
    private lazy var retry = loop.makeTimer { [unowned self] in connect() }

    init(
        to address: BusAddress?, on loop: EventLoop, log: Log, random: @escaping () -> UInt64
    ) {
        self.address = address
        self.loop = loop
        self.log = log
        self.random = random
    }

    /// The current connection, if there is one.
    var current: BusConnection? { connection }

    /// Connects to the bus, and reconnects until ``stop()``. `receive` gets the events from now on.
    func start(_ receive: @escaping (Event) -> Void) {
        self.receive = receive
        isWanted = true
        connect()
    }

    /// Disconnects from the bus.
    func stop() {
        isWanted = false
        retry.disarm()
        drop()
    }

    private func connect() {
        guard isWanted, connection == nil, let address else { return }
        do {
            let connection = try BusConnection(address, mostValues: Limits.busMessageValues)
            watch = try loop.watch(foreign: connection.descriptor) { [unowned self] in process() }
            self.connection = connection
            connection.changed = { [unowned self] in look() }
            receive?(.opened(connection))
            process()
        } catch let error as BusError {
            failed(error)
        } catch {
            log.error("\(error)", kind: "\(error)")
            tryAgain()
        }
    }

    private func process() {
        guard let connection, !isInProcess else { return }
        isInProcess = true
        defer { isInProcess = false }
        do throws(BusError) {
            try connection.process()
            if connection.isReady, readySince == nil {
                readySince = loop.now
                lastError = nil
            }
        } catch {
            return failed(error)
        }
        look()
    }

    /// Sets up the events and the timeout that the connection waits for.
    private func look() {
        guard let connection, let watch, self.connection === connection else { return }
        var interest: ExternalDescriptor.Interest = []
        if connection.interest.contains(.readable) { interest.insert(.readable) }
        if connection.interest.contains(.writable) { interest.insert(.writable) }
        watch.want(interest)
        guard let deadline = connection.deadline else { return timer.disarm() }
        let wait = deadline > loop.now ? (deadline - loop.now + 999_999) / 1_000_000 : 0
        timer.arm(afterMilliseconds: Int(clamping: wait))
    }

    private func failed(_ error: BusError) {
        if error != lastError { log.info("\(error)") }
        lastError = error
        drop()
        tryAgain()
    }

    private func tryAgain() {
        guard isWanted else { return }
        let up = readySince.map { Int((loop.now - $0) / 1_000_000) } ?? 0
        readySince = nil
        retry.arm(
            afterMilliseconds: backoff.delayMilliseconds(
                afterLinkUp: up, retryAfterMilliseconds: 0, random: random()))
    }

    private func drop() {
        timer.disarm()
        watch?.end()
        watch = nil
        guard let connection else { return }
        self.connection = nil
        connection.close()
        receive?(.lost)
    }
}
