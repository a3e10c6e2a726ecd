import PostriderDeviceQueue
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

@testable import PostriderRelay

/// One provider's connection to its own shard, without socket, thread, disk or time; the ledger commits at once.
final class FuzzedConnection: ConnectionOutput {
    let peer = Peer(address: "fuzzed")
    let isBlocked = false
    private(set) var hasEnded = false
    private let shard: Shard
    private let ledger: FuzzedLedger
    private weak var session: ProviderSession?
    private var endpoint: HTTP2Handler?
    private var answers = AnswerFrames()
    private var output: [UInt8] = []
    private var sentBytes = 0
    private var isDirty = false
    private var departure: CloseReason?
    private var isAborted = false

    init(_ code: ProtocolCode) {
        let ledger = FuzzedLedger()
        self.ledger = ledger
        let context = ShardContext(
            index: 0,
            scheduler: StoppedClock(),
            outbox: Outbox(
                ownIndex: 0, shards: [{ _ in true }], ledger: { letters in ledger.take(&letters) }),
            rows: RowSequence(after: QueueRow(0)),
            codec: FuzzedProvider.makeSeal(),
            policies: PolicyInForce(FuzzedProvider.authority),
            random: CountingBits(),
            log: .none)
        shard = Shard(
            context, ShardSettings(protocolCode: code),
            migrator: ConnectionMigrator(detach: { _ in nil }, adopt: { _ in nil }))
        shard.start()
        settle()
        let session = ProviderSession(environment: .production, among: shard.providers)
        self.session = session
        endpoint = session.endpoint
        session.endpoint.opened(on: self)
        endTurn()
    }

    /// Creates the device and its app.
    private func settle() {
        let record = DeviceRecord(
            identity: FuzzedProvider.device, secretDigest: [UInt8](repeating: 7, count: 32), name: "phone",
            enrolledAt: FuzzedProvider.now)
        let seat = DeviceEntry(record)
        shard.home.entries[record.identity] = seat
        let registration = RegistrationRecord(
            device: record.identity, number: FuzzedProvider.registration, topic: FuzzedProvider.topics[0],
            registeredAt: FuzzedProvider.now, unregisteredAt: nil)
        shard.home.with(seat) { device, _, tally, effects in device.apply(registration, &tally, &effects) }
    }

    // MARK: What the peer does

    func receive(_ bytes: Span<UInt8>) {
        guard departure == nil, !hasEnded else { return }
        endpoint?.received(bytes)
        endTurn()
    }

    /// Ends the connection as the peer.
    func hangUp() {
        if departure == nil, !hasEnded { endpoint?.inputEnded() }
        endTurn()
    }

    /// Begins to stop the relay.
    func drain() {
        guard !shard.context.isDraining else { return }
        var letters = [ShardMessage.lifecycle(.drain)]
        shard.receive(&letters)
        endTurn()
    }

    // MARK: Wire

    func setNeedsFlush() { isDirty = true }

    func close(_ reason: CloseReason) {
        guard departure == nil else { return }
        departure = reason
        isDirty = true
    }

    func abort(_ reason: CloseReason) {
        departure = departure ?? reason
        isAborted = true
    }

    /// Ends a turn of the loop.
    private func endTurn() {
        repeat {
            shard.turnEnded()
            var letters = ledger.commit()
            shard.receive(&letters)
            shard.turnEnded()
            guard isDirty, !hasEnded, !isAborted else { break }
            isDirty = false
            endpoint?.flush(into: &output)
            sentBytes += output.count
            answers.read(&output)
        } while isDirty
        guard let departure, !hasEnded else { return }
        hasEnded = true
        let leaving = endpoint
        endpoint = nil
        leaving?.closed(departure)
        shard.turnEnded()
    }

    // MARK: What must hold

    /// Checks the limits on the memory and the output of a connection.
    func check(received count: Int) throws(Contradiction) {
        if let broken = answers.broken { throw Contradiction(broken) }
        let streams = endpoint?.streams.streamCount ?? 0
        try hold(streams <= Int(Limits.providerStreams), "\(streams) streams are open")
        try hold(shard.home.tally.isBalanced, "the tally does not balance")
        // Every frame has at least nine bytes; an error is the longest answer.
        try hold(sentBytes <= 2048 + count * 40, "\(count) bytes brought forth \(sentBytes)")
    }

    /// Checks that nothing is left of the connection.
    func checkAfterEnd(received count: Int) throws(Contradiction) {
        try check(received: count)
        try hold(hasEnded, "the connection is still open")
        try hold(shard.providers.isEmpty, "the shard still knows the connection")
        try hold(session == nil, "somebody still holds the session")
    }
}

/// A ledger without a disk.
private final class FuzzedLedger {
    private var mail: [LedgerCommand] = []

    func take(_ letters: inout [LedgerCommand]) -> Bool {
        mail += letters
        letters = []
        return true
    }

    /// Commits everything, and returns the messages to the shard.
    func commit() -> [ShardMessage] {
        defer { mail = [] }
        return mail.compactMap { letter in
            switch letter {
            case .store(let queued, _):
                .push(
                    .stored([StoredRow(device: queued.notification.device, row: queued.row)], failure: nil))
            case .load(let device, let rows): .push(.loaded(device, asked: rows, .success([])))
            case .confirm(_, let ticket), .apply(_, _, let ticket):
                .registry(.applied(ticket: ticket, .success(())))
            case .settle, .receipt, .readShared, .backUp, .take, .close: nil
            }
        }
    }
}

/// A clock that does not advance.
private final class StoppedClock: Scheduler {
    private final class Timer: LoopTimer {
        private(set) var isArmed = false

        func arm(afterMilliseconds milliseconds: Int) { isArmed = true }
        func disarm() { isArmed = false }
    }

    let now: UInt64 = 0
    let wallMilliseconds = FuzzedProvider.now.milliseconds

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer { Timer() }
}

/// Returns the same numbers in every run.
private final class CountingBits: RandomSource {
    private var last: UInt64 = 0

    func next() -> UInt64 {
        last += 1
        return last
    }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }
}
