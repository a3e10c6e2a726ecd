import PostriderCallbacks
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderSpans
import PostriderTransport
import Synchronization

/// What a shard sends to the trace's thread.
enum TraceRequest: Sendable {
    /// Write these records.
    case records([TraceRecord])
    /// Write these refusals.
    case refusals([TraceRefusal])
    /// The providers of these pushes want to be called. No records of these pushes were sent before.
    case callbacks([CallbackPush])
    /// These pushes have spans. A push may come again.
    case spans([SpanPush])
    /// Answer with ``ControlMessage/traced(ticket:_:)``.
    case question(TraceQuestion, ticket: UInt64, asker: Int)
    /// The shards trace one of this many pushes from now on.
    case sample(Int)
    /// Nothing follows: close the trace and stop.
    case close
}

/// What is missing in the trace since the relay started.
final class TraceLosses: Sendable {
    private let lost = Atomic<UInt64>(0)
    private let untold = Atomic<UInt64>(0)

    func add(_ count: Int) { lost.add(UInt64(count), ordering: .relaxed) }
    /// Records that were lost because the thread was too slow or the disk failed.
    var count: UInt64 { lost.load(ordering: .relaxed) }

    func addRefusal() { untold.add(1, ordering: .relaxed) }
    /// Refusals that were not recorded because there were too many in one second.
    var refusals: UInt64 { untold.load(ordering: .relaxed) }
}

/// A shard's recorder for the trace. It collects what happens to pushes and posts it, some hundred records at a time or
/// after a moment. Nobody ever waits for it: if the trace's mailbox is full, records are lost and counted.
final class TraceRecorder {
    /// Posts a request; false if there is no room.
    typealias Post = (TraceRequest) -> Bool

    /// Nil if nothing is traced.
    private let post: Post?
    /// One of this many pushes is traced.
    private var sample: UInt64
    private let shard: Int
    private let losses: TraceLosses
    private let hasCallbacks: Bool
    /// Which pushes have spans; nil if none has.
    private let spanChoice: SpanChoice?
    private let hasher = SHA256Hasher()
    private var records: [TraceRecord] = []
    private var refusals: [TraceRefusal] = []
    private var callbacks: [CallbackPush] = []
    private var spans: [SpanPush] = []
    /// The second of the last refusals, and how many there were in it.
    private var refused: (second: Int64, count: Int) = (0, 0)
    private var timer: (any LoopTimer)?
    private var lastTicket: UInt64 = 0
    private var questions: [UInt64: (TraceAnswer) -> Void] = [:]

    /// A recorder that traces nothing.
    init() {
        post = nil
        sample = 1
        shard = 0
        losses = TraceLosses()
        hasCallbacks = false
        spanChoice = nil
    }

    /// The recorder of a shard, which traces one of `sample` pushes.
    ///
    /// - Parameters:
    ///   - hasCallbacks: whether providers may have callbacks.
    ///   - spans: which pushes have spans; nil if none has.
    init(
        ofShard shard: Int, sample: Int, losses: TraceLosses, hasCallbacks: Bool = false,
        spans: SpanChoice? = nil, post: @escaping Post
    ) {
        precondition(sample > 0)
        self.hasCallbacks = hasCallbacks
        spanChoice = spans
        self.post = post
        self.sample = UInt64(sample)
        self.shard = shard
        self.losses = losses
    }

    /// Traces one of `sample` pushes from now on.
    func change(sample: Int) {
        precondition(sample > 0)
        self.sample = UInt64(sample)
    }

    /// Whether anything is traced.
    private var isOn: Bool { post != nil }

    /// Whether every push is traced.
    var tracesAll: Bool { isOn && sample == 1 }

    /// Starts the timer.
    func start(on scheduler: any Scheduler) {
        guard isOn else { return }
        timer = scheduler.makeTimer { [unowned self] in flush() }
    }

    /// A push was accepted.
    func noteAccepted(_ queued: QueuedNotification, at now: Moment) {
        guard traces(queued.row) else { return }
        if let wanted = CallbackPush(queued) { callbacks.append(wanted) }
        noteSpans(of: queued, isNew: true)
        add(.acceptance(TraceAcceptance(queued, digest: digest(queued.notification.payload), at: now)))
    }

    /// A push that may have been accepted before this start of the relay is about to be sent to its device.
    func noteSending(_ queued: QueuedNotification) { noteSpans(of: queued, isNew: false) }

    private func noteSpans(of queued: QueuedNotification, isNew: Bool) {
        guard let spanChoice, spanChoice.includes(queued) else { return }
        spans.append(SpanPush(queued, isNew: isNew))
    }

    /// Each shard notes a broadcast before its own records of it, because they may be read before those of the home.
    private func noteSpans(of broadcast: Broadcast, _ row: QueueRow) {
        guard let spanChoice, spanChoice.includes(broadcast.traceContext, row) else { return }
        spans.append(SpanPush(broadcast, row: row))
    }

    /// A broadcast was accepted.
    func noteAccepted(
        _ broadcast: Broadcast, in environment: Environment, by proof: ProviderProof, _ row: QueueRow,
        at now: Moment
    ) {
        guard traces(row) else { return }
        noteSpans(of: broadcast, row)
        add(
            .acceptance(
                TraceAcceptance(
                    broadcast, in: environment, by: proof, row: row, digest: digest(broadcast.payload),
                    at: now)))
    }

    /// A broadcast was written to `sent` devices of this shard, and not to `skipped` others.
    func noteBroadcast(_ broadcast: Broadcast, _ row: QueueRow, sent: Int, skipped: Int, at now: Moment) {
        guard traces(row) else { return }
        noteSpans(of: broadcast, row)
        for (kind, count) in [(TraceEvent.Kind.broadcast, sent), (.skipped, skipped)] where count > 0 {
            note(kind, row, detail: TraceEvent.count(count, ofShard: shard), at: now)
        }
    }

    /// A push was refused. If there are very many, only some are recorded, so that they stay cheap.
    func note(at now: Moment, _ refusal: () -> TraceRefusal) {
        guard isOn else { return }
        let second = now.milliseconds / 1000
        if refused.second != second { refused = (second, 0) }
        refused.count += 1
        guard refused.count <= Limits.refusalsPerSecond else { return losses.addRefusal() }
        refusals.append(refusal())
    }

    /// Something has happened to a push.
    func note(_ kind: TraceEvent.Kind, _ row: QueueRow, detail: Int64, at now: Moment) {
        guard traces(row) else { return }
        add(.event(TraceEvent(kind, at: now, row: row, detail: detail)))
    }

    /// A device has reported what became of a notification.
    func note(_ event: Report.Event, by device: DeviceIdentity, at now: Moment) {
        guard isOn else { return }
        let kind: TraceEvent.Kind =
            switch event.kind {
            case .handedOver: .handedOver
            case .shown: .shown
            case .actedOn: .actedOn
            case .replaced: .replacedOnDevice
            case .merged: .merged
            case .begun: .begun
            case .done: .done
            case .failed: .failed
            case .gaveUp: .gaveUp
            case .postponed: .postponed
            }
        let report = TraceReport(
            kind, at: now, onDevice: event.moment, of: event.identity,
            row: QueueRow(Int64(clamping: event.push)), other: QueueRow(Int64(clamping: event.other)),
            by: device, tookMilliseconds: event.tookMilliseconds, text: event.text)
        add(.report(report))
    }

    /// What is missing in the trace; nil if there is no trace.
    var missing: TraceLosses? { isOn ? losses : nil }

    /// Asks the trace, if there is one. The answer includes what this shard has recorded before.
    func ask(_ question: TraceQuestion, _ respond: @escaping (TraceAnswer) -> Void) {
        guard let post else { return respond(.failed("This relay keeps no trace.")) }
        flush()
        lastTicket += 1
        if post(.question(question, ticket: lastTicket, asker: shard)) {
            questions[lastTicket] = respond
        } else {
            respond(.failed(TraceAnswer.busy))
        }
    }

    /// The trace has answered.
    func answered(_ ticket: UInt64, _ answer: TraceAnswer) {
        questions.removeValue(forKey: ticket)?(answer)
    }

    /// The end of a turn: what was recorded in it will be posted soon, or at once if providers were promised to be
    /// told of it.
    func turnEnded() {
        guard !hasCallbacks else { return flush() }
        guard !records.isEmpty || !refusals.isEmpty, let timer, !timer.isArmed else { return }
        timer.arm(afterMilliseconds: Limits.traceDelayMilliseconds)
    }

    /// Posts what was recorded.
    func flush() {
        timer?.disarm()
        guard let post else { return }
        if !callbacks.isEmpty {
            if !post(.callbacks(callbacks)) { losses.add(callbacks.count) }
            callbacks = []
        }
        if !spans.isEmpty {
            if !post(.spans(spans)) { losses.add(spans.count) }
            spans = []
        }
        if !refusals.isEmpty {
            if !post(.refusals(refusals)) { losses.add(refusals.count) }
            refusals = []
        }
        guard !records.isEmpty else { return }
        if !post(.records(records)) { losses.add(records.count) }
        records = []
    }

    /// Whether a push is traced, for the whole of its life. That depends on its row alone, which survives a restart.
    /// The bits of the row are mixed, so that no regular pattern of a provider coincides with the sample.
    func traces(_ row: QueueRow) -> Bool {
        guard isOn else { return false }
        guard sample > 1 else { return true }
        let mixed = UInt64(bitPattern: row.value) &* 0x9E37_79B9_7F4A_7C15
        return (mixed >> 32) % sample == 0
    }

    private func digest(_ payload: [UInt8]) -> PayloadDigest {
        PayloadDigest(words: hasher.digest(payload.span).words)
    }

    private func add(_ record: consuming TraceRecord) {
        if records.isEmpty { records.reserveCapacity(Limits.traceHandover) }
        records.append(record)
        if records.count >= Limits.traceHandover { flush() }
    }
}
