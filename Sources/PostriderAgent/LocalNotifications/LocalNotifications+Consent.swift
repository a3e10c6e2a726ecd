import PostriderCourier
import PostriderNotifications
import PostriderStorage

// Authorization decisions made before an app has run, and the desktop's answers.
extension LocalNotifications {
    /// The user of a topic; nil if the app is unknown.
    func owner(of topic: String) -> UInt32? { state.apps[topic].map { router.owner(of: $0) } }

    /// Keeps the owner's decision about an app that has never attached. Returns false if there is no room for it.
    func decideInAdvance(
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
        let manifest =
            router.lifecycle?.status(of: topic)?.supervisor.manifest ?? router.programs?.manifest(of: topic)
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
            router.trouble.note(error)
        }
    }

    /// The user has closed the question about an app without an answer. Calls that wait are answered that nothing has
    /// changed, and the app may ask again.
    func unanswered(_ topic: String) {
        let status = state.apps[topic].map { self.status(of: $0) } ?? .notDetermined
        for (call, stream) in waiting.removeValue(forKey: topic) ?? [] {
            stream.tell(.answer(CenterAnswer(call: call, content: .authorization(status))))
        }
    }
}
