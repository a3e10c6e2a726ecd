import PostriderSystem
import PostriderTransport

/// The connections of a worker's providers. One that has ended is replaced after a pause.
final class ProviderPool {
    private static let pauseMilliseconds = 200

    let meter: WorkerMeter
    let outcomes: PushOutcomes
    private let loop: EventLoop
    private let target: LoadTarget
    private let failure: FailureReport
    /// How many connections there shall be.
    private let count: Int
    /// How many requests one of them may have open at once.
    private let streams: Int
    private var lines: [FleetProviderConnection] = []
    /// The index in ``lines`` of the connection that was used last.
    private var last = 0
    private var pause: (any LoopTimer)?

    init(
        _ setup: WorkerSetup, on loop: EventLoop, _ meter: WorkerMeter, _ outcomes: PushOutcomes,
        _ failure: FailureReport
    ) {
        (self.loop, self.meter, self.outcomes, self.failure) = (loop, meter, outcomes, failure)
        (target, count, streams) = (setup.target, setup.providers, setup.fleet.streams)
    }

    /// Makes the connections that are missing.
    func connect() {
        while lines.count < count {
            let line = FleetProviderConnection(of: self, streams: streams)
            lines.append(line)
            _ = loop.dial(
                target.provider, resolver: SystemResolver(), tls: (target.providerTLS, target.providerName),
                session: line)
        }
    }

    /// Whether a provider is connected.
    var isConnected: Bool { lines.contains { $0.wire != nil } }

    /// The first connection, for requests whose order matters.
    var first: FleetProviderConnection? { lines.first }

    /// The next connection that can take another request.
    func lineWithRoom() -> FleetProviderConnection? {
        for _ in lines.indices {
            last = last + 1 < lines.count ? last + 1 : 0
            if lines[last].hasRoom { return lines[last] }
        }
        return nil
    }

    /// A connection, or an attempt at one, has ended.
    func ended(_ line: FleetProviderConnection, _ reason: CloseReason) {
        lines.removeAll { $0 === line }
        guard !failure.hasFailed else { return }
        let words = "provider: \(reason)"
        let tally = meter.tally
        let before = tally.failures[words, default: 0] + tally.lostLinks[words, default: 0]
        if tally.accepted == 0, tally.refused.isEmpty, tally.sent == 0, before >= 3 {
            return failure.fail("No connection to the provider port \(target.provider): \(reason).")
        }
        if !line.hasOpened {
            meter.tally.failures.countReason(words)
        } else if reason != .localClose {
            meter.tally.lostLinks.countReason(words)
        }
        let timer = pause ?? loop.makeTimer { [unowned self] in connect() }
        pause = timer
        if !timer.isArmed { timer.arm(afterMilliseconds: Self.pauseMilliseconds) }
    }
}
