import Courier
import Notifications
import Synchronization
import Transport

/// What a shard says to the trace's thread.
enum TraceLetter: Sendable {
    /// Write it down.
    case record(TraceRecord)
    /// Answer with ``Letter/traced(ticket:_:)``.
    case question(TraceQuestion, ticket: UInt64, asker: Int)
    /// Nothing comes after this: close the trace and stop.
    case close
}

/// How many records the trace has lost since the relay started: its thread was too slow, or the disk failed.
final class TraceLosses: Sendable {
    private let lost = Atomic<UInt64>(0)

    func add(_ count: Int) { lost.add(UInt64(count), ordering: .relaxed) }
    var count: UInt64 { lost.load(ordering: .relaxed) }
}

/// A shard's pen for the trace: it collects what happens to pushes and hands it over, some hundred records at a time or
/// after a moment. Nobody ever waits for it: where the trace's mailbox is full, records are lost, and counted.
final class TraceRecorder {
    /// Takes as many letters as there is room for, in order, and leaves the others. True: took all of them.
    typealias Post = (inout [TraceLetter]) -> Bool

    /// Nil: nothing is traced.
    private let post: Post?
    /// One push of so many is traced.
    private let sample: UInt64
    private let shard: Int
    private let losses: TraceLosses
    private var letters: [TraceLetter] = []
    private var timer: (any LoopTimer)?
    private var lastTicket: UInt64 = 0
    private var questions: [UInt64: ControlDesk.Respond] = [:]

    /// A recorder that traces nothing.
    init() {
        post = nil
        sample = 1
        shard = 0
        losses = TraceLosses()
    }

    /// The recorder of a shard, which traces one push of `sample`.
    init(ofShard shard: Int, sample: Int, losses: TraceLosses, post: @escaping Post) {
        precondition(sample > 0)
        self.post = post
        self.sample = UInt64(sample)
        self.shard = shard
        self.losses = losses
    }

    /// Whether anything is traced.
    private var isOn: Bool { post != nil }

    /// Begins the work that time brings.
    func start(on scheduler: any Scheduler) {
        guard isOn else { return }
        timer = scheduler.makeTimer { [unowned self] in flush() }
    }

    /// A push was taken on.
    func noteAccepted(_ queued: QueuedNotification, at now: Moment) {
        guard traces(queued.row) else { return }
        add(.record(.acceptance(TraceAcceptance(queued, at: now))))
    }

    /// Something happened to a push.
    func note(_ kind: TraceEvent.Kind, _ row: QueueRow, detail: Int64, at now: Moment) {
        guard traces(row) else { return }
        add(.record(.event(TraceEvent(kind, at: now, row: row, detail: detail))))
    }

    /// A device has told what became of a notification.
    func note(_ event: Report.Event, by device: DeviceIdentity, at now: Moment) {
        guard isOn else { return }
        let kind: TraceEvent.Kind =
            switch event.kind {
            case .handedOver: .handedOver
            case .shown: .shown
            case .actedOn: .actedOn
            }
        let report = TraceReport(kind, at: now, onDevice: event.moment, of: event.identity, by: device)
        add(.record(.report(report)))
    }

    /// Asks the trace; what this shard has recorded before counts in the answer.
    func ask(_ question: TraceQuestion, _ respond: @escaping ControlDesk.Respond) {
        guard let post else {
            respond(ControlDesk.refusal(404, "This relay keeps no trace: set 'trace' to true."))
            return
        }
        flush()
        lastTicket += 1
        var letters = [TraceLetter.question(question, ticket: lastTicket, asker: shard)]
        if post(&letters) {
            questions[lastTicket] = respond
        } else {
            respond(ControlDesk.refusal(503, TraceKeeper.busy))
        }
    }

    /// The trace has answered.
    func answered(_ ticket: UInt64, _ answer: ControlDesk.Answer) {
        questions.removeValue(forKey: ticket)?(answer)
    }

    /// The end of a turn: what was recorded in it is handed over soon.
    func turnEnded() {
        guard !letters.isEmpty, let timer, !timer.isArmed else { return }
        timer.arm(afterMilliseconds: Limits.traceDelayMilliseconds)
    }

    /// Hands over what there is.
    func flush() {
        timer?.disarm()
        guard let post, !letters.isEmpty, !post(&letters) else { return }
        losses.add(letters.count)
        letters.removeAll(keepingCapacity: true)
    }

    /// Whether a push is one of those that are traced, the whole of its life: its row decides, which outlives the
    /// process. Rows are mixed so that no rhythm of a provider's meets the sample's.
    func traces(_ row: QueueRow) -> Bool {
        guard isOn else { return false }
        guard sample > 1 else { return true }
        let mixed = UInt64(bitPattern: row.value) &* 0x9E37_79B9_7F4A_7C15
        return (mixed >> 32) % sample == 0
    }

    private func add(_ letter: TraceLetter) {
        letters.append(letter)
        if letters.count >= Limits.traceHandover { flush() }
    }
}
