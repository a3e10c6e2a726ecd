import PostriderNotifications
import PostriderSpans

/// Writes and reads the trace on a thread of its own: no push waits for it, and no shard answers questions about
/// pushes.
final class TraceWriter {
    private let store: any TraceStore
    private var sample: Int
    private let losses: TraceLosses
    private let log: Log
    private let post: (ShardMessage, Int) -> Void
    private var onClosed: (() -> Void)?
    private let observe: ([TraceRecord]) -> Void
    private let callbacks: CallbackTracker?
    private let spans: SpanConfiguration?
    private var spanTracker = SpanTracker(node: .random(in: 0 ... .max))
    private var records: [TraceRecord] = []
    private var trouble = FailureEpisodes()
    private let readClock: () -> UInt64
    private var searches: [Search] = []
    private var waits = TraceWaits()

    /// A search, and who asked for it.
    private struct Search {
        var reader: Reader
        let ticket: UInt64
        let asker: Int
        /// The key of the wait that begins with it; nil if it is only a search.
        var wait: UInt64?
    }

    private enum Reader {
        case lives(TraceSearch)
        case events(TraceEventSearch)

        /// Reads one segment. Returns true if it was the last.
        mutating func step(_ store: any TraceStore) throws(StoreError) -> Bool {
            switch self {
            case .lives(var search):
                defer { self = .lives(search) }
                return try search.step(store)
            case .events(var search):
                defer { self = .events(search) }
                return try search.step(store)
            }
        }
    }

    /// A writer of `store`, in which it records the relay's start. `post` sends a message to a shard; `onClosed` is
    /// called after a ``TraceRequest/close``; `readClock` returns monotonic nanoseconds; `observe` is shown all records
    /// before they are written.
    init(
        _ store: any TraceStore, sample: Int, losses: TraceLosses, log: Log, now: Moment,
        readClock: @escaping () -> UInt64, post: @escaping (ShardMessage, Int) -> Void,
        onClosed: @escaping () -> Void, observe: @escaping ([TraceRecord]) -> Void = { _ in },
        callbacks: CallbackTracker? = nil, spans: SpanConfiguration? = nil
    ) {
        self.store = store
        self.sample = sample
        self.losses = losses
        self.log = log
        self.readClock = readClock
        self.post = post
        self.onClosed = onClosed
        self.observe = observe
        self.callbacks = callbacks
        self.spans = spans
        write([.event(TraceEvent(.started, at: now, row: QueueRow(0)))])
    }

    /// The highest row that is known: one that was promised a callback may not have reached the trace.
    var lastRow: QueueRow { max(store.lastRow, callbacks?.lastRow ?? QueueRow(0)) }

    /// When ``expire()`` has to be called, in monotonic nanoseconds; nil if nobody waits.
    var nextDeadline: UInt64? { waits.nextDeadline }

    /// Answers the callers whose time is over.
    func expire() { answer(waits.takeDue(now: readClock())) }

    private func answer(_ settled: [TraceWaits.Wait]) {
        for wait in settled {
            reply(.progress(wait.pushState), wait.ticket, wait.asker)
        }
    }

    /// Whether a question waits for ``work()``.
    var hasWork: Bool { !searches.isEmpty }

    /// Takes requests in the order of their arrival.
    func receive(_ messages: [TraceRequest]) {
        for message in messages {
            guard onClosed != nil else { return }
            switch message {
            case .records(let some) where records.isEmpty: records = some
            case .records(let some): records += some
            case .refusals(let refusals): write(refusals)
            case .callbacks(let wanted): callbacks?.expect(wanted)
            case .spans(let wanted): spanTracker.expect(wanted)
            case .question(let question, let ticket, let asker): take(question, ticket, asker)
            case .sample(let sample): self.sample = sample
            case .close: close()
            }
        }
        writeDown()
    }

    /// Reads one segment for the oldest question.
    func work() {
        guard !searches.isEmpty else { return }
        var asked = searches.removeFirst()
        do throws(StoreError) {
            guard try asked.reader.step(store) else { return searches.insert(asked, at: 0) }
            switch asked.reader {
            case .lives(let search): try ended(search, asked)
            case .events(let search):
                guard let wait = asked.wait else {
                    return reply(.events(search.events), asked.ticket, asked.asker)
                }
                answer(waits.found(wait, search.events).map { [$0] } ?? [])
            }
        } catch {
            guard let wait = asked.wait else {
                return reply(.failed(error.description), asked.ticket, asked.asker)
            }
            waits.notFound(wait)
        }
    }

    private func ended(_ search: TraceSearch, _ asked: Search) throws(StoreError) {
        let refusals = try refusals(search)
        if let wait = asked.wait {
            let settled = waits.found(wait, search.found.last, refusal: refusals.last)
            answer(settled.map { [$0] } ?? [])
        } else {
            let answer = Control.Trace(search, losses, refusals: refusals, sample: sample)
            reply(.pushes(answer), asked.ticket, asked.asker)
        }
    }

    private func reply(_ answer: TraceAnswer, _ ticket: UInt64, _ asker: Int) {
        post(.control(.traced(ticket: ticket, answer)), asker)
    }

    private func take(_ question: TraceQuestion, _ ticket: UInt64, _ asker: Int) {
        writeDown()
        switch question {
        case .search(let filter, let last):
            search(.lives(TraceSearch(filter, last: last, in: store)), ticket, asker)
        case .events(let rows):
            search(.events(TraceEventSearch(rows, in: store, isAboutOthers: true)), ticket, asker)
        case .wait(let identity, let wait, let filter): self.wait(for: identity, wait, filter, ticket, asker)
        case .feed(let position):
            reply(feed(after: position ?? store.end), ticket, asker)
        }
    }

    private func search(_ reader: Reader, _ ticket: UInt64, _ asker: Int) {
        guard searches.count < Limits.traceQuestions else {
            return reply(.failed(TraceAnswer.busy), ticket, asker)
        }
        searches.append(Search(reader: reader, ticket: ticket, asker: asker))
    }

    /// Adds a waiting caller, and searches for what is already known.
    private func wait(
        for identity: NotificationIdentity, _ wait: PushWait, _ filter: TraceFilter, _ ticket: UInt64,
        _ asker: Int
    ) {
        guard searches.count < Limits.traceQuestions, waits.count < Limits.traceWaits else {
            return reply(.failed(TraceAnswer.busy), ticket, asker)
        }
        let deadline = readClock() + UInt64(wait.seconds) * 1_000_000_000
        let number = waits.add(
            TraceWaits.Wait(
                for: identity, wait.stage, matching: filter, ticket: ticket, asker: asker, deadline: deadline)
        )
        var filter = filter
        filter.identity = identity
        let reader: Reader =
            if let known = filter.known {
                .events(TraceEventSearch([known], in: store, isAboutOthers: false))
            } else {
                .lives(TraceSearch(filter, last: 1, in: store, seeksNames: false))
            }
        searches.append(Search(reader: reader, ticket: ticket, asker: asker, wait: number))
    }

    /// The refusals for a search.
    private func refusals(_ search: TraceSearch) throws(StoreError) -> [TraceRefusal] {
        guard search.filter.wantsRefusals else { return [] }
        var found: [TraceRefusal] = []
        try store.visitRefusals { if search.filter.matches($0) { found.append($0) } }
        return found.suffix(search.last)
    }

    private func feed(after position: TracePosition) -> TraceAnswer {
        var records: [TraceRecord] = []
        do throws(StoreError) {
            let next = try store.visit(from: position, limit: Limits.traceFeed) { records.append($0) }
            return .feed(Control.TraceFeed(records, next, lost: losses.count))
        } catch {
            return .failed(error.description)
        }
    }

    private func writeDown() {
        guard !records.isEmpty else { return }
        observe(records)
        callbacks?.take(records)
        if let spans { spans.send(spanTracker.take(records)) }
        write(records)
        records = []
    }

    /// A failing disk is logged once, and once more when it works again.
    private func write(_ records: [TraceRecord]) {
        attempt(records.count) { () throws(StoreError) in try store.append(records) }
        answer(waits.take(records))
    }

    private func write(_ refusals: [TraceRefusal]) {
        attempt(refusals.count) { () throws(StoreError) in try store.append(refusals) }
        answer(waits.take(refusals))
    }

    private func attempt(_ count: Int, _ write: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try write()
            if trouble.isPresent, trouble.succeeded(at: readClock()) != nil {
                log.notice("the trace is written again; \(losses.count) records are lost")
            }
        } catch {
            losses.add(count)
            if trouble.failed(error, at: readClock()) { log.error("the trace is not written: \(error)") }
        }
    }

    private func close() {
        writeDown()
        let waiting = waits.takeDue(now: nil).map { ($0.ticket, $0.asker) }
        let asking = searches.filter { $0.wait == nil }.map { ($0.ticket, $0.asker) }
        for (ticket, asker) in asking + waiting {
            reply(.failed("The relay is shutting down."), ticket, asker)
        }
        searches = []
        store.close()
        onClosed?()
        onClosed = nil
    }
}
