import PostriderChannels
import PostriderNotifications
import PostriderTransport

/// One event loop's share of the relay: the connections that it accepted, and the devices and channels whose home it
/// is.
///
/// A shard itself is only the turn and the dispatch; its parts do the work. Confined to its thread: shards share no
/// state, and send each other ``ShardMessage``s. Only a device's home changes its presence, queue, collapse slots and
/// acknowledgements.
final class Shard {
    let context: ShardContext
    /// The devices whose home is this shard.
    let home: DeviceHome
    let providers: ProviderConnections
    let devices: DeviceConnections
    /// Senders of Web Push, and browsers as devices.
    let web: WebPort
    /// The channels whose home is this shard.
    let channels: ChannelHome
    let changes: RegistryChanges
    let queries: ShardQueries
    /// Callers that wait for captures, on shard 0 of a relay with a test bench.
    let captureWaiters: CaptureWaiters?
    /// The names and tags of all devices, on shard 0.
    let directory: DeviceDirectory
    /// Answers providers that look up devices or ask about pushes, on shard 0.
    private let lookups: ProviderLookups
    /// The listeners of this shard.
    var listeners: [Listener] = []

    /// Reused for each turn.
    private var ownMessages: [ShardMessage] = []
    private var timers = Timers()
    private(set) var hooks: Hooks

    private struct Timers {
        var sweep: (any LoopTimer)?
        var retry: (any LoopTimer)?
        /// How long a drain waits; nil before it begins.
        var drain: DrainPatience?
    }

    /// What a shard reports to its thread.
    struct Hooks {
        /// Passes on this shard's report for the measurement of this number.
        let measured: (ShardReport, UInt64) -> Void
        /// Called once when the drain is over: every push is answered and every connection closed.
        var drained: (() -> Void)?
        /// Ends the loop.
        let stop: () -> Void
        /// Returns the settings after a reload; nil if nothing can reload.
        let renew: () -> ShardSettings?
        /// These settings are applied.
        let renewed: () -> Void
        /// Tells the node's thread that the devices of the partitions of this ticket are forgotten.
        let left: (UInt64) -> Void
    }

    /// How often expired notifications of absent devices are looked for.
    private static let sweepMilliseconds = 10_000

    init(
        _ context: ShardContext, _ settings: ShardSettings = ShardSettings(), migrator: ConnectionMigrator,
        refusalPace: RefusalPace = RefusalPace(),
        onMeasured: @escaping (ShardReport, UInt64) -> Void = { _, _ in },
        onDrained: @escaping () -> Void = {}, onStop: @escaping () -> Void = {},
        onSettingsChanged: @escaping () -> ShardSettings? = { nil },
        onSettingsApplied: @escaping () -> Void = {}, onLeft: @escaping (UInt64) -> Void = { _ in }
    ) {
        self.context = context
        hooks = Hooks(
            measured: onMeasured, drained: onDrained, stop: onStop, renew: onSettingsChanged,
            renewed: onSettingsApplied, left: onLeft)
        context.quotas.replace(settings.quotas)
        changes = RegistryChanges(context)
        queries = ShardQueries(context)
        directory = DeviceDirectory(context, changes, settings.presence)
        directory.askElsewhere = { [queries] in queries.nodes.findName($0, but: $1, then: $2) }
        lookups = ProviderLookups(directory, queries, ProviderWaits(context, queries.nodes))
        captureWaiters = settings.bench.map { CaptureWaiters($0, on: context.scheduler) }
        channels = ChannelHome(context, changes)
        let sessions = ProviderSessions()
        home = DeviceHome(context, settings, changes, providers: sessions)
        providers = ProviderConnections(context, settings, home, sessions)
        devices = DeviceConnections(
            context, home,
            RegistrationRequests(context, home, changes, hasDevelopment: settings.hasDevelopment),
            EnrolmentRefusals(refusalPace, on: context.scheduler), migrator,
            settings.protocolCode.deviceLinks, settings.bench)
        web = WebPort(context, home, changes, migrator, origin: settings.webOrigin)
        devices.registrations.web = web.home
        context.waiting.perform = { [unowned self] in accept($0) }
        sessions.others.append { [unowned web] in web.routes.answer($0, $1) }
    }

    var index: Int { context.index }

    /// Starts the timers.
    func start() {
        let scheduler = context.scheduler
        home.start()
        timers.sweep = scheduler.makeTimer { [unowned self] in sweep() }
        timers.sweep?.arm(afterMilliseconds: Self.sweepMilliseconds)
        timers.retry = scheduler.makeTimer {}
        context.trace.start(on: scheduler)
    }

    /// Adds what the store holds of the devices and channels whose home is this shard.
    func restore(_ loaded: LoadedStore) {
        home.restore(loaded)
        channels.restore(loaded.registry)
        web.home.restore(loaded)
    }

    private func sweep() {
        let keepsExpired = home.sweep()
        if !keepsExpired { channels.sweep() }
        channels.removeForbidden()
        devices.subscriptions.askAgain()
        web.home.sweep(isClockInDoubt: keepsExpired)
        home.watchBalance()
        home.saveSightings()
        if index == 0 {
            devices.warnOfKeys()
            providers.warnOfKeys()
        }
        home.journal.tick(hasDevices: !devices.isEmpty || !web.sessions.isEmpty)
        timers.sweep?.arm(afterMilliseconds: Self.sweepMilliseconds)
    }

    /// Applies the settings of a reload.
    func apply(_ settings: ShardSettings) {
        context.quotas.replace(settings.quotas)
        home.apply(settings)
        providers.apply(settings)
        devices.deviceLinks = settings.protocolCode.deviceLinks
        for listener in listeners where listener.loadBalancers != nil {
            listener.loadBalancers = settings.loadBalancers
        }
        if let sample = settings.traceSample { context.trace.change(sample: sample) }
    }

    // MARK: A turn

    /// Handles messages from other threads.
    func receive(_ messages: inout [ShardMessage]) {
        for message in messages { handle(message) }
        messages.removeAll(keepingCapacity: true)
    }

    /// The end of a turn: handles the messages of the shard to itself, and posts those to others.
    func turnEnded() {
        let outbox = context.outbox
        home.sendEvents()
        outbox.takeOwn(into: &ownMessages)
        while !ownMessages.isEmpty {
            receive(&ownMessages)
            home.sendEvents()
            outbox.takeOwn(into: &ownMessages)
        }
        devices.sendDepartures()
        web.sendDepartures()
        home.storeOverdue()
        context.trace.turnEnded()
        if !outbox.post() {
            // A mailbox was full: makes sure that another turn follows soon, even if nothing else happens.
            timers.retry?.arm(afterMilliseconds: 1)
        }
        if context.isDraining, providers.isEmpty, devices.isEmpty, web.isEmpty, !isOpening {
            hooks.drained?()
            hooks.drained = nil
        }
    }

    private func handle(_ message: ShardMessage) {
        switch message {
        case .push(let message): handle(message)
        case .device(let message): handle(message)
        case .channel(let message): handle(message)
        case .web(.findDevice(let text, let address)): find(text, address)
        case .web(let message): web.take(message)
        case .edge(let message):
            if case .linkEnded(let link) = message { linkEnded(link) }
            if !web.edges.take(message) { devices.edges.take(message) }
        case .nodeQuery(let message): queries.nodes.take(message)
        case .handover(let message): context.waiting.take(message)
        case .registry(let message): handle(message)
        case .control(.question(let question, let id, let asker)):
            context.outbox.send(.control(.reply(reply(to: question), id: id)), to: asker)
        case .control(.reply(let reply, let id)): queries.collect(reply, id)
        case .control(.measure(let number)): hooks.measured(report, number)
        case .control(.capturesChanged): captureWaiters?.capturesChanged()
        case .control(.devices(let events)): directory.take(events)
        case .control(.enrolled(let record, let tags)): directory.enrolled(record, tags)
        case .control(.lookUp(let question, let address)):
            lookups.answer(question, now: context.scheduler.now) { [context] answer in
                context.outbox.send(.control(.lookedUp(answer, address)), to: Int(address.shard))
            }
        case .control(.lookedUp(let answer, let address)): providers.sessions.answer(address, answer)
        case .control(.traced(let ticket, let answer)): context.trace.answered(ticket, answer)
        case .lifecycle(.drain): drain()
        case .lifecycle(.settingsChanged):
            hooks.renew().map(apply)
            hooks.renewed()
        case .lifecycle(.stop):
            context.trace.flush()
            hooks.stop()
        }
    }

    private func handle(_ message: PushMessage) {
        switch message {
        case .deliver(let notification, let address): home.offer(notification, address)
        case .answer(let address, let result): providers.sessions.answer(address, result)
        case .stored(let rows, let failure): home.stored(rows, failure)
        case .loaded(let device, let asked, let result): home.loaded(device, asked, result)
        }
    }

    private func handle(_ message: DeviceLifecycleMessage) {
        switch message {
        case .enrol(let record, let tags, let key, let address): home.enrol(record, tags, key, address)
        case .enrolled(let address, let device, let refusal):
            devices.enrolled(address, device, refusal)
            web.enrolled(address, device, refusal)
        case .arrived(let hello, let connection): devices.adopt(connection, hello)
        }
    }

    private func handle(_ message: ChannelMessage) {
        switch message {
        case .order(let order, let owner, let address): channels.take(order, of: owner, for: address)
        case .answer(let address, let answer): providers.sessions.answer(address, answer)
        case .subscribe(let request): channels.find(request)
        case .subscribed(let request, let isKnown, let stored, let row):
            guard let session = devices.sessions[request.connection] else { return }
            devices.subscriptions.subscribed(session, request, isKnown: isKnown, stored, row)
        case .broadcast(let broadcast, let row): devices.subscriptions.deliver(broadcast, row)
        case .removed(let channel): devices.subscriptions.removed(channel)
        }
    }

    // MARK: The operator

    private func reply(to question: ShardQuestion) -> ShardReply {
        switch question {
        case .tally: .tally(report)
        case .devices(let filter): .devices(home.deviceReports(filter))
        case .remove(let identity): .removed(remove(identity))
        case .channels(let topic): .channels(channels.registry, of: topic)
        case .subscribers(let channels):
            .subscribers(channels.map { devices.subscriptions.subscribers[$0].count })
        }
    }

    private func remove(_ identity: DeviceIdentity) -> Bool {
        web.home.forget(identity)
        return home.remove(identity)
    }

    var report: ShardReport {
        var report = home.report
        report.refused = listeners.reduce(0) { $0 + UInt64($1.counts.refused) }
        report.providerConnections = providers.count
        report.deviceConnections = devices.connectionCount + web.connectionCount
        report.channels = channels.registry.count
        report.subscriptions = devices.subscriptions.subscribers.count
        report.broadcasts = devices.subscriptions.tally
        report.broadcasts.accepted = channels.accepted
        return report
    }

    // MARK: Stopping

    /// Whether the end waits for handshakes.
    private var isOpening: Bool {
        timers.drain?.waitsForHandshakes == true && listeners.contains { $0.counts.opening > 0 }
    }

    /// Accepts no more pushes, answers those that are open, says goodbye to devices, and reports when all is done.
    func drain() {
        guard !context.isDraining else { return }
        context.beginDrain()
        for listener in listeners { listener.close() }
        timers.drain = DrainPatience(on: context.scheduler) { [unowned self] in
            providers.abort()
            devices.abort()
            web.abort()
        }
        home.journal.close()
        lookups.drain()
        providers.drain()
        devices.drain()
        web.drain()
    }
}
