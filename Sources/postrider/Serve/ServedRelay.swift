import FoundationEssentials
import PostriderCallbackSender
import PostriderCallbacks
import PostriderCluster
import PostriderCommands
import PostriderEvidence
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import PostriderSystem
import PostriderTransport

/// A relay that runs until it is asked to end, and then ends in order.
struct ServedRelay {
    let relay: Relay
    /// The service of its metrics; nil if they are not served.
    let metrics: MetricsService?
    /// Sends callbacks; nil if they are off.
    private let callbacks: CallbackSender?
    /// Sends spans; nil if they are off.
    private let spans: SpanSender?
    private let audit: AuditLog
    private let requests: AsyncStream<Termination.Request>
    /// The control socket, which answers only if all shards do.
    private let control: ControlClient
    private let supervision: Supervision
    private let loss: MembershipLoss
    private let log: Log

    /// Starts a relay on a store. It is listening when this returns.
    ///
    /// - Parameter changes: changes that are made to the store before the relay reads it.
    static func start(
        _ configuration: RelayConfiguration, store place: StorePlace, metrics: MetricsArguments?,
        callbacks: CallbackArguments? = nil, spans: SpanArguments? = nil, changes: [RegistryChange] = [],
        log: Log
    ) async throws -> ServedRelay {
        let addresses =
            configuration.providerAddresses.count + configuration.developmentProviderAddresses.count
            + configuration.deviceAddresses.count + (configuration.web?.addresses.count ?? 0)
        let calls =
            (callbacks == nil ? 0 : Limits.callbacksUnderWay.all) + (spans == nil ? 0 : 1)
            + (configuration.cluster == nil ? 0 : 1 + 2 * Limits.nodes)
        try DescriptorNeed.relay(
            shards: configuration.shards, addresses: addresses, callbacks: calls
        ).check()
        let requests = try Termination.requests()
        let signer = EvidenceSigner(name: ProcessInfo.processInfo.hostName)
        var configuration = configuration
        configuration.signer = signer
        if let cluster = configuration.cluster {
            configuration.cluster?.openMembership = { (log) throws(StoreError) in
                let member = try cluster.openMembership(log)
                // The directory is there now, and no other relay uses it.
                signer.load(from: place.dataDirectory, log: log)
                return member
            }
        }
        let loss = MembershipLoss()
        configuration.cluster?.whenLost = { loss.note($0, log) }
        let sender = try callbacks?.start(for: &configuration, in: place.dataDirectory, log: log)
        let spanSender = try spans?.start(for: &configuration, log: log)
        let audit = try AuditLog(dataDirectory: place.dataDirectory, log: log)
        configuration.audit = audit.record
        let traceMebibytes = configuration.traceMebibytes
        let relay = try await Relay.start(
            configuration, log: log,
            openStore: { () throws(StoreError) in
                let store = try place.open(log: log)
                var outcome: Result<Void, StoreError> = .success(())
                if !changes.isEmpty { store.apply(changes) { outcome = $0 } }
                try outcome.get()
                // The directory is there now, and no other relay uses it.
                signer.load(from: place.dataDirectory, log: log)
                return store
            },
            openTrace: { () throws(StoreError) in
                try FileTrace(
                    directory: place.dataDirectory + "/trace", log: log, mebibytes: traceMebibytes)
            })
        return ServedRelay(
            relay: relay,
            metrics: .start(
                metrics, of: relay, store: place, callbacks: sender, spans: spanSender,
                sockets: configuration.sockets, log: log),
            callbacks: sender, spans: spanSender, audit: audit, requests: requests,
            control: ControlClient(address: configuration.controlAddress),
            supervision: Supervision(ProcessInfo.processInfo.environment, log: log), loss: loss, log: log)
    }

    /// Reports readiness, reloads on request, waits for the first request to end, drains, and returns the exit code:
    /// not 0 for a node that has lost its membership, so that a supervisor starts it again.
    /// A second request cuts the drain short; no accepted notification is lost by that.
    ///
    /// - Parameter reload: reads the files again that may have changed, and returns what it found. It changes nothing
    ///   if it throws.
    func untilEnd(reload: () async throws -> ReloadResult) async -> Int32 {
        supervision.tell("READY=1")
        let watch = supervision.watch { [control] in
            (try? await control.request("GET", "/v1/status?local")) != nil
        }
        defer { watch?.cancel() }
        var requests = requests.makeAsyncIterator()
        var request = await requests.next()
        while case .reload(let sender)? = request {
            supervision.tell(Supervisor.reloadingState)
            do {
                let result = try await reload()
                log.notice("reloaded: \(result.sentence)")
                noteReload(by: sender, result.changes, refusal: nil)
            } catch {
                log.error("not reloaded, everything stays as it was: \(error)")
                noteReload(by: sender, [:], refusal: "\(error)")
            }
            supervision.tell("READY=1")
            request = await requests.next()
        }
        guard request == .end else { return 1 }
        supervision.tell("STOPPING=1")
        log.notice("draining; a second signal ends at once")

        let (outcomes, outcome) = AsyncStream<Int32>.makeStream()
        let (relay, metrics, callbacks, spans, rest) = (relay, metrics, callbacks, spans, self.requests)
        Task {
            await relay.stop()
            metrics?.stop()
            await callbacks?.stop()
            await spans?.stop()
            outcome.yield(0)
        }
        Task {
            for await request in rest where request == .end { outcome.yield(1) }
        }
        let code = await outcomes.first { _ in true } ?? 1
        audit.end()
        log.notice(code == 0 ? "ended in good order" : "ended before everybody was answered")
        return loss.hasHappened ? 1 : code
    }

    /// Records a reload in the audit.
    private func noteReload(by sender: SignalSender?, _ changes: [String: String], refusal: String?) {
        let caller = OperatorChange.Caller(user: sender?.user, process: sender?.process)
        let now = Moment(milliseconds: EventLoop.realtimeMilliseconds)
        audit.record(OperatorChange(reload: changes, refusal: refusal, by: caller, at: now))
    }
}

/// What a reload has changed.
struct ReloadResult {
    /// For the log, a part of a sentence.
    let sentence: String
    /// The settings that have new values, which are applied.
    var changes: [String: String] = [:]
}
