import Courier
import Notifications
import Storage
import Transport

/// Where the link to the relay and the apps of the device meet: the agent's heart. It does no I/O but the state's.
///
///     relay ─delivered─▶ arrivals ─┬─ endTurn: one transaction ─▶ acknowledge ─▶ hand over to the topic's stream
///     app ───handled───▶ handled ──┘
///
/// Everything of one turn of the loop is made safe together. A topic belongs to one user; the newest stream of a topic
/// is given its notifications, in order.
final class AppDesk {
    let state: AgentState
    private let declarations: [String: UInt32]
    private let scheduler: any Scheduler
    let log: Log
    /// The link; its owner, which also owns this, sets it.
    weak var line: (any RelayLine)?
    /// The apps' user notification centres.
    private(set) lazy var center = CenterDesk(state, desk: self, scheduler: scheduler, log: log)

    /// The streams of each topic, the newest last, and how far the newest has come in the inbox.
    private var attachments: [String: Attachments] = [:]
    private var arrivals: [Inbox.Arrival] = []
    private var acknowledgements: [UInt64] = []
    private var handled: [Int64] = []
    /// Topics that may have something to be handed over.
    private var stirred: Set<String> = []
    /// Topics of which the relay has yet to say that they are unregistered as it was asked to; an app may have come
    /// back.
    private var leaving: Set<String> = []
    /// Armed while the disk refuses what has to be written.
    private lazy var retry = scheduler.makeTimer { [unowned self] in endTurn() }

    private struct Attachments {
        var streams: [AppStream] = []
        var lastRow: Int64 = 0
    }

    private static let retryMilliseconds = 1000

    /// A desk over this state. `declarations` say whose the topics are that the operator has declared.
    init(_ state: AgentState, declarations: [String: UInt32], scheduler: any Scheduler, log: Log) {
        self.state = state
        self.declarations = declarations
        self.scheduler = scheduler
        self.log = log
    }

    private var now: Moment { Moment(milliseconds: scheduler.wallMilliseconds) }

    // MARK: Apps

    /// An app asks for its topic's token and notifications. A topic has the environment that was asked for last.
    func register(_ text: String, in environment: Environment = .production, for stream: AppStream) {
        do {
            let record = try admit(text, in: environment, for: stream)
            attach(stream, to: text)
            if let token = record.token {
                stream.tell(
                    .registered(Registered(topic: text, deviceToken: token, environment: environment)))
            } else {
                line?.register(text, in: environment)
            }
        } catch let refusal as AppRefusal {
            log.notice("user \(stream.user) was refused: \(refusal.reason)")
            stream.tell(.refused(Refused(topic: text, reason: refusal.reason)))
        } catch {
            log.error("\(error)")
            stream.tell(
                .refused(Refused(topic: text, reason: "The agent cannot store the registration now.")))
        }
    }

    /// An app gives its topic up, with all that waits for it. The topic is anybody's once the relay has heard of it.
    func unregister(_ text: String, for stream: AppStream) {
        guard var record = state.apps[text], owner(of: record) == stream.user else {
            stream.tell(.unregistered(topic: text))
            return
        }
        record.isWanted = false
        record.token = nil
        guard keep(record) else {
            stream.tell(.refused(Refused(topic: text, reason: "The agent cannot store the change now.")))
            return
        }
        let others = attachments[text]?.streams.filter { $0 !== stream } ?? []
        if state.centers[record.number] == nil { attachments[text] = nil }
        for stream in others + [stream] { stream.tell(.unregistered(topic: text)) }
        leaving.insert(text)
        line?.unregister(text)
    }

    /// An app is done with deliveries. False: one of them was never sent to it.
    func handled(_ deliveries: [UInt64], by stream: AppStream) -> Bool {
        guard let rows = stream.settle(deliveries) else { return false }
        handled += rows
        for (topic, attachments) in attachments where attachments.streams.last === stream {
            stirred.insert(topic)
        }
        return true
    }

    /// Whether apps have handled something that is not safe yet.
    var hasHandled: Bool { !handled.isEmpty }

    /// An app's stream is gone. What was under way on it is pending again, for the stream that now is the newest.
    func left(_ stream: AppStream) {
        center.left(stream)
        for (topic, var remaining) in attachments {
            guard let index = remaining.streams.firstIndex(where: { $0 === stream }) else { continue }
            remaining.streams.remove(at: index)
            if index == remaining.streams.count { remaining.lastRow = 0 }
            attachments[topic] = remaining.streams.isEmpty ? nil : remaining
            stirred.insert(topic)
        }
    }

    /// The app of a topic, if it may be that of the stream's user, with a token in this environment; nil: it asks for
    /// none.
    func admit(_ text: String, in environment: Environment?, for stream: AppStream) throws -> AppRecord {
        guard let topic = Topic(text) else { throw AppRefusal.notATopic }
        if let user = declarations[text], user != stream.user { throw AppRefusal.notYours(topic) }
        guard var record = state.apps[text] else {
            guard state.apps.records.count < Limits.registrationsPerDevice else { throw AppRefusal.tooMany }
            return try state.apps.add(
                topic, user: stream.user, in: environment ?? .production, isWanted: environment != nil)
        }
        guard owner(of: record) == stream.user else { throw AppRefusal.notYours(topic) }
        let isSame = environment ?? record.environment == record.environment
        record = AppRecord(
            number: record.number, topic: topic, user: stream.user,
            environment: environment ?? record.environment, token: isSame ? record.token : nil,
            isWanted: environment != nil || record.isWanted)
        try state.apps.put(record)
        return record
    }

    func owner(of record: AppRecord) -> UInt32 { declarations[record.topic.text] ?? record.user }

    /// From now on the stream is given what there is for a topic.
    func attach(_ stream: AppStream, to topic: String) {
        var present = attachments[topic] ?? Attachments()
        guard present.streams.last !== stream else { return }
        present.streams.removeAll { $0 === stream }
        present.streams.append(stream)
        present.lastRow = 0
        attachments[topic] = present
        stirred.insert(topic)
    }

    // MARK: The relay

    /// The link is up, and these registrations are alive at the relay.
    func welcomed(_ registrations: [Registered]) {
        registrations.forEach(registered)
        let alive = Set(registrations.map(\.topic))
        for topic in state.apps.unwanted.subtracting(alive) { forget(topic) }
        leaving = state.apps.unwanted.intersection(alive)
    }

    /// A registration is alive: its app is told, if this is news. One in another environment than the app's answers
    /// an older question, or was made before the app changed over; the link sees to that.
    func registered(_ registered: Registered) {
        guard var record = state.apps[registered.topic], record.isWanted,
            record.environment == registered.environment, record.token != registered.deviceToken
        else { return }
        record.token = registered.deviceToken
        guard keep(record) else { return }
        tell(registered.topic, .registered(registered))
    }

    /// A registration has ended: because its app wished so, or by the operator.
    func unregistered(_ topic: String) {
        guard var record = state.apps[topic] else { return }
        let wasAskedFor = leaving.remove(topic) != nil
        guard record.isWanted else { return forget(topic) }
        guard !wasAskedFor else { return }
        record.token = nil
        guard keep(record) else { return }
        tell(topic, .unregistered(topic: topic))
    }

    /// A registration cannot be made.
    func refused(_ refused: Refused) {
        log.notice("the relay refused topic \(refused.topic): \(refused.reason)")
        tell(refused.topic, .refused(refused))
    }

    /// A notification has come down the link. It is acknowledged when it is safe.
    func delivered(_ deliver: Deliver) {
        acknowledgements.append(deliver.delivery)
        arrived(deliver)
    }

    /// Takes on what came down the link, until the turn ends.
    func arrived(_ deliver: Deliver) {
        if let record = state.apps[deliver.topic], record.isWanted {
            arrivals.append(Inbox.Arrival(app: record.number, parcel: .remote(deliver)))
            stirred.insert(deliver.topic)
        } else {
            log.info("a notification for \(deliver.topic), which no app wants, was dropped")
        }
    }

    /// The link is gone, and what came down it cannot be acknowledged any more. It comes again, and is known then.
    func linkEnded() { acknowledgements.removeAll() }

    func tell(_ topic: String, _ message: AgentMessage) {
        for stream in attachments[topic]?.streams ?? [] { stream.tell(message) }
    }

    /// The relay knows that an app is gone: so does the agent.
    private func forget(_ topic: String) {
        guard let record = state.apps[topic], !record.isWanted, state.centers[record.number] == nil else {
            return
        }
        do throws(StoreError) { try state.apps.remove(record) } catch { log.error("\(error)") }
    }

    /// False: it could not be stored, and is not so.
    private func keep(_ record: AppRecord) -> Bool {
        do throws(StoreError) {
            try state.apps.put(record)
            return true
        } catch {
            log.error("\(error)")
            return false
        }
    }

    // MARK: The end of a turn

    /// There may be something new for a topic in the inbox.
    func stir(_ topic: String) { stirred.insert(topic) }

    /// Makes safe what this turn has brought, then answers for it, then hands over what is due.
    func endTurn() {
        if !arrivals.isEmpty || !handled.isEmpty || !acknowledgements.isEmpty { commit() }
        guard !stirred.isEmpty else { return }
        for topic in stirred { handOver(topic) }
        stirred.removeAll(keepingCapacity: true)
    }

    /// What cannot be stored is not acknowledged. The relay keeps it, and is asked for it again on a new link.
    private func commit() {
        defer {
            arrivals.removeAll(keepingCapacity: true)
            acknowledgements.removeAll(keepingCapacity: true)
        }
        do throws(StoreError) {
            if !arrivals.isEmpty || !handled.isEmpty {
                let outcome = try state.inbox.commit(arrivals, handled: handled, now: now)
                if outcome.dropped > 0 {
                    log.warning("\(outcome.dropped) notifications were dropped: an app's inbox is full")
                }
            }
            handled.removeAll(keepingCapacity: true)
            if !acknowledgements.isEmpty { line?.acknowledge(acknowledgements) }
        } catch {
            log.error("\(error)")
            retry.arm(afterMilliseconds: Self.retryMilliseconds)
            if !arrivals.isEmpty { line?.startAnew() }
        }
    }

    /// Sends a topic's newest stream what it has room for, in order.
    private func handOver(_ topic: String) {
        guard let record = state.apps[topic], var present = attachments[topic],
            let stream = present.streams.last, stream.hasRoom
        else { return }
        do throws(StoreError) {
            try state.inbox.forEachPending(of: record.number, after: present.lastRow) { row, parcel in
                stream.send(parcel, from: row)
                present.lastRow = row
                return stream.hasRoom
            }
        } catch {
            log.error("\(error)")
        }
        attachments[topic] = present
    }
}

/// Why an app's registration is refused by the agent itself.
enum AppRefusal: Error {
    case notATopic
    case notYours(Topic)
    case tooMany

    var reason: String {
        switch self {
        case .notATopic: "This is no topic: write a bundle identifier such as com.example.app."
        case .notYours(let topic): "The topic \(topic) belongs to another user of this device."
        case .tooMany: "This device has too many apps."
        }
    }
}
