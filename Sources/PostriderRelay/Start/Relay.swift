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
    /// The addresses of the provider port for the development environment; empty if there is none.
    public let developmentProviderAddresses: [SocketAddress]
    /// The addresses of the device port.
    public let deviceAddresses: [SocketAddress]
    /// The address of the console; nil if it is off.
    public let consoleAddress: SocketAddress?
    /// The addresses of the web port; empty if it is off.
    public let webAddresses: [SocketAddress]

    let parts: RelayParts

    private init(_ listening: ShardThread.Listening, console: SocketAddress?, _ parts: RelayParts) {
        providerAddresses = listening.providers
        developmentProviderAddresses = listening.developmentProviders
        deviceAddresses = listening.devices
        consoleAddress = console
        webAddresses = listening.web
        self.parts = parts
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
        for address in configuration.listenerAddresses where configuration.sockets?.has(address) != true {
            try Listener.requireFree(address)
        }
        let (mailboxes, latches) = (
            try RelayMailboxes(shards: configuration.shards, isNode: configuration.cluster != nil),
            RelayLatches(shards: configuration.shards)
        )
        let ledgerMeasures = LedgerMeasures()
        let rows = RowSequence(after: QueueRow(0))
        let (node, openStore) = try await startNode(configuration, mailboxes, log, openStore)
        let ledger = LedgerThread(
            mailboxes: mailboxes, closed: latches.closed, measures: ledgerMeasures, log: log,
            openStore: openStore, rows: rows)
        let loaded: LoadedStore
        do {
            loaded = try await ledger.start()
        } catch {
            await node?.leave()
            await node?.stop()
            throw error
        }
        let policy = AccessPolicy(
            generation: 1,
            providerKeys: loaded.registry.providerKeys,
            topics: loaded.registry.topics,
            enrolmentKeys: loaded.registry.enrolmentKeys,
            sendTokens: loaded.registry.sendTokens,
            log: log
        )
        let (trace, tracedRow) = await startTrace(configuration, mailboxes, log, openTrace)
        if let program = configuration.onPresence {
            try await PresenceThread(
                program: program, mailbox: mailboxes.programs, before: loaded.departures, log: log
            ).start()
        }
        // A row that never reached the disk may be in the trace.
        rows.rise(above: max(loaded.lastRow, tracedRow))
        let parts = RelayParts(
            tls: tls,
            gate: ConnectionLimiter(configuration.sourceLimits),
            mailboxes: mailboxes,
            latches: latches,
            rows: rows,
            policies: PolicyInForce(policy),
            settings: SettingsInForce(configuration),
            ledgerMeasures: ledgerMeasures,
            node: node,
            trace: trace,
            log: log
        )
        return try await start(configuration, parts, loaded)
    }

    /// Starts the shards.
    private static func start(
        _ configuration: RelayConfiguration, _ parts: RelayParts, _ loaded: LoadedStore
    ) async throws -> Relay {
        var configuration = configuration
        var listening: ShardThread.Listening?
        var console: SocketAddress?
        for index in 0..<configuration.shards {
            let thread = ShardThread(
                index: index, configuration: configuration, parts: parts, loaded: TransferBox(loaded))
            let addresses = try await thread.start()
            // The first shard turns port 0 into a port; the others share it.
            configuration.providerAddresses = addresses.providers
            configuration.developmentProviderAddresses = addresses.developmentProviders
            configuration.deviceAddresses = addresses.devices
            configuration.web?.addresses = addresses.web
            console = addresses.console ?? console
            listening = addresses
        }
        guard let listening else { preconditionFailure("a relay has at least one shard") }
        await parts.latches.ready.reachesZero()
        parts.mailboxes.node?.events.postEvenIfFull(.ready)
        return Relay(listening, console: console, parts)
    }

    /// Opens the store of the ledger, on the ledger's thread.
    private typealias OpenStore = @Sendable () throws(StoreError) -> any Store

    /// Makes the relay a member of its cluster, if it has one. Returns how its ledger opens the store.
    private static func startNode(
        _ configuration: RelayConfiguration, _ mailboxes: RelayMailboxes, _ log: Log,
        _ openStore: @escaping OpenStore
    ) async throws -> (NodeThread?, OpenStore) {
        guard let cluster = configuration.cluster, let boxes = mailboxes.node else { return (nil, openStore) }
        let node = NodeThread(
            cluster: cluster, mailboxes: mailboxes, node: boxes, tls: NodeTLS(try NodeTLS.Contexts(cluster)),
            log: log)
        let claim = try await node.start()
        return (node, { () throws(StoreError) in try cluster.openStore(claim, log) })
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
            callbacks: configuration.callbacks, spans: configuration.spans,
            openTrace: openTrace)
        do {
            return (thread, try await thread.start())
        } catch {
            log.error("pushes are not traced: \(error)")
            return (nil, QueueRow(0))
        }
    }

    /// Reads the certificate, its key and the trust file again, and applies the limits, the compatibility, the
    /// protocol code and the trace's sample of `configuration`. When this returns, every shard uses them; certificates
    /// and protocol code count for new connections. Addresses, shards and everything else that a relay is started with
    /// stay.
    ///
    /// - Throws: a sentence that names the faulty file; then nothing has changed.
    public func reload(_ configuration: RelayConfiguration) async throws(CryptoError) {
        let links = try configuration.cluster.map(NodeTLS.Contexts.init)
        try parts.tls.renew(configuration)
        if let links { parts.node?.tls.renew(links) }
        parts.gate.change(configuration.sourceLimits)
        let mailboxes = parts.mailboxes
        let applied = CountDownLatch(from: mailboxes.shards.count)
        parts.settings.replace(configuration, unread: applied)
        mailboxes.postToAllShards(.lifecycle(.settingsChanged))
        await applied.reachesZero()
        if let sample = configuration.traceSample { mailboxes.trace.postEvenIfFull(.sample(sample)) }
    }

    /// Stops in good order: open pushes are answered, devices are told to come back, and everything that was accepted
    /// is on the disk.
    public func stop() async {
        let (mailboxes, latches) = (parts.mailboxes, parts.latches)
        // While other nodes take the partitions over, pushes and devices go on.
        await parts.node?.leave()
        mailboxes.postToAllShards(.lifecycle(.drain))
        await latches.drained.reachesZero()
        mailboxes.ledger.postEvenIfFull(.close)
        await latches.closed.reachesZero()
        await parts.node?.stop()
        mailboxes.postToAllShards(.lifecycle(.stop))
        await latches.stopped.reachesZero()
        mailboxes.programs.postEvenIfFull(.close)
        guard let trace = parts.trace else { return }
        mailboxes.trace.postEvenIfFull(.close)
        await trace.closed.reachesZero()
    }
}
