public import PostriderCrypto
public import PostriderNotifications
import PostriderProviderAPI
import PostriderTLS
public import PostriderTransport

/// A running relay: one thread for each shard, one for the ledger.
///
///     provider → ProviderSession → PushValidator → Outbox ══ message ══▶ home shard: Device → DeviceSession → device
///                                                                                        └─ Ledger → Store
public final class Relay: Sendable {
    /// The addresses of the provider port for the production environment, with the port that the kernel chose if 0 was
    /// asked for.
    public let providerAddresses: [SocketAddress]
    /// The same for the development environment; empty if there is none.
    public let developmentProviderAddresses: [SocketAddress]
    /// The same for devices.
    public let deviceAddresses: [SocketAddress]
    /// The same for the console; nil if it is off.
    public let consoleAddress: SocketAddress?

    private let tls: RelayTLS
    private let gate: ConnectionLimiter
    private let settings: SettingsInForce
    let mailboxes: RelayMailboxes
    let ledgerMeasures: LedgerMeasures
    private let drained: CountDownLatch
    private let closed: CountDownLatch
    private let stopped: CountDownLatch
    /// Nil if nothing is traced.
    private let trace: TraceThread?

    private init(
        _ listening: ShardThread.Listening, console: SocketAddress?, _ tls: RelayTLS,
        _ gate: ConnectionLimiter,
        _ settings: SettingsInForce, _ mailboxes: RelayMailboxes,
        _ ledgerMeasures: LedgerMeasures, drained: CountDownLatch,
        closed: CountDownLatch, stopped: CountDownLatch, _ trace: TraceThread?
    ) {
        providerAddresses = listening.providers
        developmentProviderAddresses = listening.developmentProviders
        deviceAddresses = listening.devices
        consoleAddress = console
        self.tls = tls
        self.gate = gate
        self.settings = settings
        self.mailboxes = mailboxes
        self.ledgerMeasures = ledgerMeasures
        self.drained = drained
        self.closed = closed
        self.stopped = stopped
        self.trace = trace
    }

    /// Starts a relay. When this returns, it listens and everything in its store is loaded.
    ///
    /// - Parameters:
    ///   - openStore: opens the store; called on the ledger's thread, which then owns it.
    ///   - openTrace: opens the trace's store on a thread of its own, after the store; nil for no trace. If it fails,
    ///     the relay serves without a trace, and logs that.
    /// - Throws: `CryptoError`, `TransportError` or ``Notifications/StoreError``, each with one sentence for the
    ///   operator.
    public static func start(
        _ configuration: RelayConfiguration,
        log: Log,
        openStore: @escaping @Sendable () throws(StoreError) -> any Store,
        openTrace: (@Sendable () throws(StoreError) -> any TraceStore)? = nil
    ) async throws -> Relay {
        let tls = try RelayTLS(configuration, log: log)
        for address in configuration.listenerAddresses { try Listener.requireFree(address) }
        let mailboxes = try RelayMailboxes(shards: configuration.shards)
        let (drained, closed) = (CountDownLatch(from: configuration.shards), CountDownLatch(from: 1))

        let (ledgerMeasures, topicLabels) = (LedgerMeasures(), TopicLabels())
        let ledger = LedgerThread(
            mailboxes: mailboxes, closed: closed, measures: ledgerMeasures, log: log, openStore: openStore)
        let loaded = try await ledger.start()
        let policy = AccessPolicy(
            generation: 1,
            providerKeys: loaded.registry.providerKeys,
            topics: loaded.registry.topics,
            enrolmentKeys: loaded.registry.enrolmentKeys,
            log: log
        )
        let (policies, settings) = (PolicyInForce(policy), SettingsInForce(configuration))
        let (gate, refusalPace) = (ConnectionLimiter(configuration.sourceLimits), RefusalPace())
        let (trace, tracedRow) = await startTrace(configuration, mailboxes, log, openTrace)
        // A row that never reached the disk may be in the trace.
        let rows = RowSequence(after: max(loaded.lastRow, tracedRow))
        let (ready, stopped) = (
            CountDownLatch(from: configuration.shards), CountDownLatch(from: configuration.shards)
        )
        if let program = configuration.onPresence {
            try await PresenceThread(
                program: program, mailbox: mailboxes.programs, before: loaded.departures, log: log
            ).start()
        }
        var configuration = configuration
        var listening: ShardThread.Listening?
        var console: SocketAddress?
        for index in 0..<configuration.shards {
            let thread = ShardThread(
                index: index,
                configuration: configuration,
                tls: tls,
                gate: gate,
                refusalPace: refusalPace,
                mailboxes: mailboxes,
                rows: rows,
                inForce: (policies, settings),
                loaded: TransferBox(loaded),
                ready: ready,
                drained: drained,
                stopped: stopped,
                trace: trace,
                topicLabels: topicLabels,
                log: log
            )
            let addresses = try await thread.start()
            // The first shard turns port 0 into a port; the others share it.
            configuration.providerAddresses = addresses.providers
            configuration.developmentProviderAddresses = addresses.developmentProviders
            configuration.deviceAddresses = addresses.devices
            console = addresses.console ?? console
            listening = addresses
        }
        guard let listening else { preconditionFailure("a relay has at least one shard") }
        await ready.reachesZero()
        return Relay(
            listening, console: console, tls, gate, settings, mailboxes, ledgerMeasures,
            drained: drained, closed: closed, stopped: stopped, trace)
    }

    /// Opens the trace, if there is to be one, and returns its highest row.
    private static func startTrace(
        _ configuration: RelayConfiguration, _ mailboxes: RelayMailboxes, _ log: Log,
        _ openTrace: (@Sendable () throws(StoreError) -> any TraceStore)?
    ) async -> (TraceThread?, QueueRow) {
        guard let openTrace, let sample = configuration.traceSample else { return (nil, QueueRow(0)) }
        let thread = TraceThread(
            mailboxes: mailboxes, losses: TraceLosses(), sample: sample, closed: CountDownLatch(from: 1),
            log: log,
            bench: configuration.bench,
            callbacks: configuration.callbacks,
            openTrace: openTrace)
        do {
            return (thread, try await thread.start())
        } catch {
            log.error("pushes are not traced: \(error)")
            return (nil, QueueRow(0))
        }
    }

    /// The quotas of teams and topics, with what is used of them.
    var quotas: QuotaSet { settings.quotas }

    /// What the trace has lost; nil if nothing is traced.
    var traceLosses: TraceLosses? { trace?.losses }

    /// When the relay's certificate expires, in seconds since 1970; nil if that is unknown.
    var certificateExpiry: Int? { tls.certificateExpiry }

    /// Reads the certificate, its key and the trust file again, and applies the limits, the compatibility, the
    /// protocol code and the trace's sample of `configuration`. When this returns, every shard uses them; certificates
    /// and protocol code count for new connections. Addresses, shards and everything else that a relay is started with
    /// stay.
    ///
    /// - Throws: a sentence that names the faulty file; then nothing has changed.
    public func reload(_ configuration: RelayConfiguration) async throws(CryptoError) {
        try tls.renew(configuration)
        gate.change(configuration.sourceLimits)
        let applied = CountDownLatch(from: mailboxes.shards.count)
        settings.replace(configuration, unread: applied)
        mailboxes.postToAllShards(.lifecycle(.settingsChanged))
        await applied.reachesZero()
        if let sample = configuration.traceSample { mailboxes.trace.postEvenIfFull(.sample(sample)) }
    }

    /// Stops in good order: open pushes are answered, devices are told to come back, and everything that was accepted
    /// is on the disk.
    public func stop() async {
        mailboxes.postToAllShards(.lifecycle(.drain))
        await drained.reachesZero()
        mailboxes.ledger.postEvenIfFull(.close)
        await closed.reachesZero()
        mailboxes.postToAllShards(.lifecycle(.stop))
        await stopped.reachesZero()
        mailboxes.programs.postEvenIfFull(.close)
        guard let trace else { return }
        mailboxes.trace.postEvenIfFull(.close)
        await trace.closed.reachesZero()
    }
}
