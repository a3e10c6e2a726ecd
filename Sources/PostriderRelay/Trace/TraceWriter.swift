import PostriderNotifications

/// The one that writes the trace and reads it, on a thread of its own: no push waits for it, and no question about
/// pushes is answered by a shard.
final class TraceWriter {
    private let store: any TraceStore
    private let sample: Int
    private let losses: TraceLosses
    private let log: Log
    private let post: (ShardMessage, Int) -> Void
    private var onClosed: (() -> Void)?
    private let observe: ([TraceRecord]) -> Void
    private var records: [TraceRecord] = []
    private var trouble = FailureEpisodes()
    private let readClock: () -> UInt64
    private var searches: [(search: TraceSearch, ticket: UInt64, asker: Int)] = []

    /// A keeper of `store`, in which it notes that the relay started. `post` addresses a letter to a shard;
    /// `onClosed` is called after a ``TraceRequest/close``; `readClock` answers monotonic nanoseconds; `observe` is
    /// shown all records before they are written.
    init(
        _ store: any TraceStore, sample: Int, losses: TraceLosses, log: Log, now: Moment,
        readClock: @escaping () -> UInt64, post: @escaping (ShardMessage, Int) -> Void,
        onClosed: @escaping () -> Void, observe: @escaping ([TraceRecord]) -> Void = { _ in }
    ) {
        self.store = store
        self.sample = sample
        self.losses = losses
        self.log = log
        self.readClock = readClock
        self.post = post
        self.onClosed = onClosed
        self.observe = observe
        write([.event(TraceEvent(.started, at: now, row: QueueRow(0)))])
    }

    /// Whether a question waits for ``work()``.
    var hasWork: Bool { !searches.isEmpty }

    /// Takes on letters in the order of their arrival.
    func receive(_ letters: [TraceRequest]) {
        for letter in letters {
            guard onClosed != nil else { return }
            switch letter {
            case .records(let some) where records.isEmpty: records = some
            case .records(let some): records += some
            case .refusals(let refusals): write(refusals)
            case .question(let question, let ticket, let asker): take(question, ticket, asker)
            case .close: close()
            }
        }
        writeDown()
    }

    /// Goes through one segment for the oldest question.
    func work() {
        guard !searches.isEmpty else { return }
        var (search, ticket, asker) = searches.removeFirst()
        do throws(StoreError) {
            if try search.step(store) {
                let answer = Control.Trace(search, losses, refusals: try refusals(search), sample: sample)
                reply(.pushes(answer), ticket, asker)
            } else {
                searches.insert((search, ticket, asker), at: 0)
            }
        } catch {
            reply(.failed(error.description), ticket, asker)
        }
    }

    private func reply(_ answer: TraceAnswer, _ ticket: UInt64, _ asker: Int) {
        post(.control(.traced(ticket: ticket, answer)), asker)
    }

    private func take(_ question: TraceQuestion, _ ticket: UInt64, _ asker: Int) {
        writeDown()
        switch question {
        case .search(let filter, let last):
            guard searches.count < Limits.traceQuestions else {
                return reply(.failed(TraceAnswer.busy), ticket, asker)
            }
            searches.append((TraceSearch(filter, last: last, in: store), ticket, asker))
        case .feed(let position):
            reply(feed(after: position ?? store.end), ticket, asker)
        }
    }

    /// The refusals that a search asks for.
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
        write(records)
        records = []
    }

    /// A disk that fails is told of once, and once when it is well again.
    private func write(_ records: [TraceRecord]) {
        attempt(records.count) { () throws(StoreError) in try store.append(records) }
    }

    private func write(_ refusals: [TraceRefusal]) {
        attempt(refusals.count) { () throws(StoreError) in try store.append(refusals) }
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
        for (_, ticket, asker) in searches {
            reply(.failed("The relay is shutting down."), ticket, asker)
        }
        searches = []
        store.close()
        onClosed?()
        onClosed = nil
    }
}
