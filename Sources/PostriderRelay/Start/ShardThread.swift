import PostriderCluster
import PostriderCrypto
import PostriderEndpoints
import PostriderNotifications
import PostriderProviderAPI
import PostriderSystem
import PostriderTransport

/// The thread of a shard: a loop that listens for providers and devices, and on shard 0 for the operator.
struct ShardThread: Sendable {
    /// The addresses on which a shard listens.
    struct Listening: Sendable {
        let providers: [SocketAddress]
        let developmentProviders: [SocketAddress]
        let devices: [SocketAddress]
        let web: [SocketAddress]
        /// The console's address; nil on other shards than shard 0, and if it is off.
        let console: SocketAddress?
    }

    let index: Int
    let configuration: RelayConfiguration
    let parts: RelayParts
    let loaded: TransferBox<LoadedStore>

    /// Starts the thread. When this returns the shard listens; it serves connections when it is ready.
    func start() async throws -> Listening {
        try await Thread.start(name: "shard-\(index)") { run($0) }
    }

    private func run(_ continuation: CheckedContinuation<Listening, any Error>) {
        Thread.takeShortSlices()
        do {
            let loop = try EventLoop()
            let shard = try begin(on: loop, continuation)
            shard.start()
            parts.latches.ready.countDown()
            withExtendedLifetime(shard) { loop.run() }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    /// Makes the shard, opens its listeners, and gives it its part of what was read from the store. All shards do this
    /// at the same time. What was read is freed when this returns.
    private func begin(
        on loop: EventLoop, _ continuation: CheckedContinuation<Listening, any Error>
    ) throws -> Shard {
        guard let loaded = loaded.take() else { preconditionFailure("a shard begins once") }
        let shard = try makeShard(loaded.registry, on: loop)
        continuation.resume(returning: try listen(shard, loaded.registry, on: loop))
        shard.restore(loaded)
        if index == 0 { shard.directory.restore(loaded.registry) }
        return shard
    }

    private func makeShard(_ registry: Registry, on loop: EventLoop) throws -> Shard {
        let mailboxes = parts.mailboxes
        let context = ShardContext(
            index: index,
            scheduler: loop,
            outbox: mailboxes.outbox(ofShard: index),
            rows: parts.rows,
            codec: try DeviceTokenCodec(secrets: registry.tokenSecrets),
            policies: parts.policies,
            random: Entropy(),
            trace: parts.trace?.recorder(ofShard: index) ?? TraceRecorder(),
            topicLabels: parts.topicLabels,
            log: parts.log
        )
        var settings = ShardSettings(configuration)
        settings.presence = mailboxes.presence
        settings.quotas = parts.settings.quotas
        let shard = Shard(
            context, settings,
            migrator: ConnectionMigrator(on: loop, through: mailboxes.transit),
            refusalPace: parts.refusalPace,
            onMeasured: { mailboxes.measurements.add($0, for: $1) },
            onDrained: { [parts] in parts.latches.drained.countDown() },
            onStop: { [unowned loop, parts] in
                loop.stop()
                parts.latches.stopped.countDown()
            },
            onSettingsChanged: { [unowned loop, parts] in
                let configuration = parts.settings.current
                loop.busyPollingMicroseconds = configuration.busyPollingMicroseconds
                var settings = ShardSettings(configuration)
                settings.quotas = parts.settings.quotas
                return settings
            },
            onSettingsApplied: { [parts] in parts.settings.noteApplied() },
            onLeft: { mailboxes.node?.events.postEvenIfFull(.left(ticket: $0)) }
        )
        if index == 0, let node = parts.node {
            shard.queries.nodes.cluster = NodeQueries.Cluster(
                name: node.cluster.name, others: { node.node.reports.current.others(than: node.cluster.name) }
            )
        }
        shard.changes.whenRead = { mailboxes.node?.events.postEvenIfFull(.renewed(version: $0)) }
        loop.busyPollingMicroseconds = configuration.busyPollingMicroseconds
        loop.turnEnded = { [unowned shard] in shard.turnEnded() }
        try loop.attach(mailboxes.shards[index]) { [unowned shard] messages in shard.receive(&messages) }
        return shard
    }

    private func listen(_ shard: Shard, _ registry: Registry, on loop: EventLoop) throws -> Listening {
        let providers = try listen(at: configuration.providerAddresses) {
            try listenForProviders(of: .production, at: $0, shard, on: loop)
        }
        let developmentProviders = try listen(at: configuration.developmentProviderAddresses) {
            try listenForProviders(of: .development, at: $0, shard, on: loop)
        }
        let devices = try listen(at: configuration.deviceAddresses) { address in
            try loop.listen(
                address, renewable: parts.tls.device, port: .shared, inherited: configuration.sockets
            ) { [unowned shard] _ in
                shard.context.isDraining ? nil : DeviceSession(among: shard.devices).endpoint
            }
        }
        for listener in devices { listener.isPaced = true }
        loop.pace = HandshakeLimiter(
            horizonMilliseconds: Limits.handshakeMilliseconds, least: Limits.handshakesLeast)
        let web = try listen(at: configuration.web?.addresses ?? []) { address in
            try loop.listen(
                address, renewable: parts.tls.web, port: .shared, inherited: configuration.sockets
            ) { [unowned shard] _ in
                shard.context.isDraining ? nil : WebConnection(on: shard.web)
            }
        }
        shard.listeners = providers + developmentProviders + devices + web
        for listener in providers + developmentProviders {
            guardListener(listener, shard.context.providerEnds, shard.context)
        }
        for listener in devices { guardListener(listener, shard.context.deviceEnds, shard.context) }
        for listener in web { guardListener(listener, shard.context.webEnds, shard.context) }
        for listener in providers + developmentProviders + devices {
            listener.loadBalancers = configuration.loadBalancers
        }
        let console = index == 0 ? try listenForOperator(shard, registry, providers, on: loop) : nil
        return Listening(
            providers: providers.map(\.address), developmentProviders: developmentProviders.map(\.address),
            devices: devices.map(\.address), web: web.map(\.address), console: console)
    }

    /// Listens on the control socket, and for the console if there is one. Returns the console's address.
    private func listenForOperator(
        _ shard: Shard, _ registry: Registry, _ providers: [Listener], on loop: EventLoop
    ) throws -> SocketAddress? {
        if configuration.onPresence != nil { tellProgram(of: shard.directory.events) }
        let context = shard.context
        let routes = configuration.console.map { ConsoleRoutes($0.sessions) }
        let isPlotted = routes != nil || parts.node != nil
        let history = isPlotted ? StatusHistory(context, shard.queries) : nil
        history?.start()
        let handler = ControlHandler(
            registry, context, shard.changes, shard.queries, configuration.bench,
            shard.captureWaiters, shard.directory, signer: configuration.signer, console: routes,
            history: history,
            nodes: parts.node.map {
                NodeRoutes(name: $0.cluster.name, mailboxes: $0.node, scheduler: context.scheduler)
            })
        let pushes = ControlPushes(context, shard.home, shard.providers)
        let access = SocketAccess(user: configuration.user, log: parts.log)
        shard.listeners.append(
            try loop.listen(
                configuration.controlAddress, renewable: nil, inherited: configuration.sockets
            ) { _ in
                ControlSession(handler, pushes, access, audit: configuration.audit).endpoint
            })
        guard let console = configuration.console, let routes else { return nil }
        let facts = ConsoleAccess.Facts(
            hasCaptures: configuration.bench != nil, providerPort: providers.first?.address.port ?? 0,
            node: parts.node?.cluster.name.text)
        let listener = try loop.listen(
            console.address, renewable: parts.tls.device, inherited: configuration.sockets
        ) { _ in
            guard !context.isDraining else { return nil }
            let access = ConsoleAccess(console, facts, context)
            return ControlSession(handler, pushes, access, audit: configuration.audit).endpoint
        }
        guardListener(listener, context.consoleEnds, context)
        shard.listeners.append(listener)
        routes.address = listener.address.description
        return listener.address
    }

    /// Lets the operator's program observe devices that connect and leave.
    private func tellProgram(of feed: DeviceEventFeed) {
        let post = {
            [mailboxes = parts.mailboxes, log = parts.log] (message: PresenceThread.Message, count: Int) in
            guard !mailboxes.programs.post(message) else { return }
            log.warning(
                "on-presence was not told of \(count) events of devices: too many came at once",
                kind: "on-presence")
        }
        feed.observe(
            DeviceEventFeed.Observer(
                take: { post(.events($0), $0.count) }, expect: { post(.expected($0), $0.count) }))
    }

    /// Listens on each address of a list. Addresses with port 0 share the port that the kernel chooses for the first.
    private func listen(
        at addresses: [SocketAddress], _ make: (SocketAddress) throws -> Listener
    ) throws -> [Listener] {
        var listeners: [Listener] = []
        var chosen: UInt16?
        for address in addresses {
            guard address.port == 0 else {
                listeners.append(try make(address))
                continue
            }
            listeners.append(try make(address.with(port: chosen ?? 0)))
            chosen = listeners.last?.address.port
        }
        return listeners
    }

    /// Counts connections by their source, and logs those that are refused or fail before they have a session.
    private func guardListener(_ listener: Listener, _ ends: ConnectionEnds, _ context: ShardContext) {
        listener.gate = parts.gate
        listener.observer = ConnectionBeginnings(ends: ends, context: context)
    }

    private func listenForProviders(
        of environment: Environment, at address: SocketAddress, _ shard: Shard, on loop: EventLoop
    ) throws -> Listener {
        let listener = try loop.listen(
            address, renewable: parts.tls.provider, port: .shared, inherited: configuration.sockets
        ) { [unowned shard] _ in
            ProviderSession(environment: environment, among: shard.providers).endpoint
        }
        listener.recordsTLSDetails = configuration.bench != nil
        return listener
    }
}

/// Logs and counts what becomes of connections before they have a session.
private struct ConnectionBeginnings: ListenerObserver {
    let ends: ConnectionEnds
    unowned let context: ShardContext

    func refused(_ refusal: Refusal, _ peer: Peer) { ends.noteRefusal(refusal, of: peer) }
    func failed(_ reason: CloseReason, _ peer: Peer) { ends.note(reason, of: peer) }
    func handshakeEnded(nanoseconds: UInt64) { context.noteHandshake(ends.port, nanoseconds: nanoseconds) }
}
