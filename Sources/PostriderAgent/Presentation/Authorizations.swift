import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// Whether apps may notify: what they ask for, what the owner of the device, the user of the desktop or a manifest
/// decides, and the calls that wait for a decision.
final class Authorizations {
    /// The answer to apps that ask for authorization; `notDetermined` if the owner is asked.
    var answerToAll = AuthorizationStatus.notDetermined

    private let state: AgentState
    private let declared: DeclaredApps
    private let admission: AppAdmission
    private let streams: AttachedStreams
    private let trouble: StateTrouble
    private let log: Log
    /// Calls that wait for the owner's decision, by topic.
    private var waiting: [String: [(call: UInt64, stream: AppStream)]] = [:]

    init(
        _ state: AgentState, declared: DeclaredApps, admission: AppAdmission, streams: AttachedStreams,
        trouble: StateTrouble, log: Log
    ) {
        self.state = state
        self.declared = declared
        self.admission = admission
        self.streams = streams
        self.trouble = trouble
        self.log = log
    }

    /// Whether a call waits for a decision.
    var hasWaitingCalls: Bool { !waiting.isEmpty }

    /// The decision about an app.
    func status(of record: AppRecord) -> AuthorizationStatus {
        state.centers[record.number]?.status ?? .notDetermined
    }

    /// The user of a topic; nil if the app is unknown.
    func owner(of topic: String) -> UInt32? { state.apps[topic].map { admission.owner(of: $0) } }

    // MARK: Apps

    /// The record of an app that uses its user notification centre.
    func admit(_ topic: String, for stream: AppStream) throws -> AppRecord {
        let record = try admission.admit(topic, in: nil, for: stream)
        if state.centers[record.number] == nil { try state.centers.put(CenterRecord(), of: record.number) }
        try applyDecision(about: record)
        return record
    }

    /// What an app is told that cannot be admitted.
    func sentence(_ error: any Error) -> String {
        if let refusal = error as? AppRefusal { return refusal.reason }
        trouble.note(error)
        return "The agent cannot store that now."
    }

    /// Tells an app that registers the owner's decision about its alerts, if it has used its centre.
    func tellStatus(of record: AppRecord, to stream: AppStream) {
        guard let center = state.centers[record.number] else { return }
        let topic = record.topic.text
        stream.tell(.authorization(Authorization(topic: topic, status: center.status)))
    }

    /// An app asks to be allowed to notify.
    ///
    /// - Returns: the answer; nil if it follows when somebody has decided.
    func ask(
        _ options: UInt32, _ record: AppRecord, _ stream: AppStream, _ call: UInt64
    ) throws -> CenterAnswer.Content? {
        var center = state.centers[record.number] ?? CenterRecord()
        // What an app asked for earlier stays asked for, as far as the owner allows it.
        center.asked = (center.asked ?? 0) | options
        try state.centers.put(center, of: record.number)
        let topic = record.topic.text
        let isQuiet = NotificationOptions(rawValue: options).contains(.provisional)
        let isOpen = center.status == .notDetermined || (center.status == .provisional && !isQuiet)
        if isOpen, answerToAll != .notDetermined {
            _ = try decide(answerToAll, about: topic)
        } else if isOpen, isQuiet {
            _ = try decide(.provisional, about: topic)
        } else if isOpen {
            log.notice(
                "\(topic) asks to be allowed to notify; nobody has decided yet", kind: "undecided: \(topic)",
                fields: .init(topic: topic))
            guard waiting[topic, default: []].count < Limits.waitingCallsPerTopic else {
                throw CenterRefusal.tooManyWaiting
            }
            waiting[topic, default: []].append((call, stream))
            state.presentation.add(.asked(topic: topic, user: admission.owner(of: record)))
            return nil
        }
        return .authorization(status(of: record))
    }

    /// An app's stream has ended, and with it its calls that wait.
    func left(_ stream: AppStream) {
        waiting = waiting.mapValues { $0.filter { $0.stream !== stream } }.filter { !$0.value.isEmpty }
    }

    /// An app is forgotten, and with it its calls that wait.
    func forget(_ topic: String) { waiting[topic] = nil }

    // MARK: Decisions

    /// The owner of the device decides whether an app may alert. A decision about an app that has never attached is
    /// kept for it. Returns false if there is no room for that.
    ///
    /// - Parameter granted: which of the options that the app asks for the owner grants; nil for all.
    func decide(
        _ status: AuthorizationStatus, about topic: String, granting granted: NotificationOptions? = nil
    ) throws(StoreError) -> Bool {
        guard let record = state.apps[topic] else {
            return try decideInAdvance(status, about: topic, granting: granted)
        }
        var center = state.centers[record.number] ?? CenterRecord()
        // Permission to notify quietly is no answer to an app that asked for alerts: the question stays.
        let isAnswer = status != .provisional
        defer { if isAnswer { state.presentation.add(.answered(topic: topic)) } }
        guard center.status != status || center.granted != granted?.rawValue else { return true }
        center.status = status
        center.granted = granted?.rawValue
        let losesBadge = center.badge > 0 && !center.options.contains(.badge)
        if losesBadge { center.badge = 0 }
        try state.centers.put(center, of: record.number)
        if isAnswer { try state.consents.put(ConsentRegister.Record(), of: topic) }
        if losesBadge { state.presentation.add(.badge(topic: topic)) }
        streams.isReceptionStale = true
        streams.tell(topic, .authorization(Authorization(topic: topic, status: status)))
        if !center.options.contains(.alert) {
            state.presentation.add(.revoked(topic: topic, identifiers: nil))
        }
        guard status != .notDetermined, isAnswer else { return true }
        answerWaiting(topic, status)
        return true
    }

    /// The user has closed the question about an app without an answer. Calls that wait are answered that nothing has
    /// changed, and the app may ask again.
    func unanswered(_ topic: String) {
        answerWaiting(topic, state.apps[topic].map { status(of: $0) } ?? .notDetermined)
    }

    private func answerWaiting(_ topic: String, _ status: AuthorizationStatus) {
        for (call, stream) in waiting.removeValue(forKey: topic) ?? [] {
            stream.tell(.answer(CenterAnswer(call: call, content: .authorization(status))))
        }
    }

    /// Keeps the owner's decision about an app that has never attached. Returns false if there is no room for it.
    private func decideInAdvance(
        _ status: AuthorizationStatus, about topic: String, granting granted: NotificationOptions?
    ) throws(StoreError) -> Bool {
        var consent = state.consents[topic]
        let others = state.consents.decided.count { $0 != topic }
        guard status == .notDetermined || others < Limits.decisionsInAdvance else { return false }
        consent.status = status
        consent.granted = status == .notDetermined ? nil : granted
        try state.consents.put(consent, of: topic)
        return true
    }

    /// Applies decisions to an app that has appeared, or whose manifest has. If nobody has decided about it since, the
    /// owner's decision in advance counts, or else the manifest's.
    func applyDecision(about record: AppRecord) throws(StoreError) {
        guard status(of: record) == .notDetermined else { return }
        let topic = record.topic.text
        let said = state.consents[topic]
        let manifest = declared[topic]
        let (status, granted) =
            said.status == .notDetermined
            ? (manifest?.notifications ?? .notDetermined, manifest?.notificationOptions)
            : (said.status, said.granted)
        guard status != .notDetermined else { return }
        log.notice(
            "\(topic) \(status == .authorized ? "may" : "may not") notify, as was decided beforehand",
            fields: .init(topic: topic))
        _ = try decide(status, about: topic, granting: granted)
    }

    /// Manifests have changed: applies decisions to all apps.
    func applyDecisions() {
        do throws(StoreError) {
            for record in state.apps.records.values { try applyDecision(about: record) }
        } catch {
            trouble.note(error)
        }
    }

    /// Sets the badge of an app's icon. Returns false if the app may not have one.
    func setBadge(_ count: UInt32, of record: AppRecord) throws(StoreError) -> Bool {
        guard var center = state.centers[record.number], center.options.contains(.badge) else { return false }
        center.badge = count
        try state.centers.put(center, of: record.number)
        state.presentation.add(.badge(topic: record.topic.text))
        return true
    }
}
