import PostriderCourier
import PostriderNotifications
import PostriderStorage

// Authorization decisions made before an app has run, and the desktop's answers.
extension LocalNotifications {
    /// Whose app a topic is; nil: nobody knows of such an app.
    func owner(of topic: String) -> UInt32? { state.apps[topic].map { desk.owner(of: $0) } }

    /// Keeps what the owner says of an app that has not come yet; false: there is no room for that.
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

    /// An app has come, or its manifest: where nobody has decided, what the owner has said in advance counts, or else
    /// what the manifest says.
    func applyDecision(about record: AppRecord) throws(StoreError) {
        guard status(of: record) == .notDetermined else { return }
        let topic = record.topic.text
        let said = state.consents[topic]
        let manifest =
            desk.keeper?.status(of: topic)?.supervisor.manifest ?? desk.programs?.manifest(of: topic)
        let (status, granted) =
            said.status == .notDetermined
            ? (manifest?.notifications ?? .notDetermined, manifest?.notificationOptions)
            : (said.status, said.granted)
        guard status != .notDetermined else { return }
        log.notice("\(topic) \(status == .authorized ? "may" : "may not") notify, as was decided beforehand")
        _ = try decide(status, about: topic, granting: granted)
    }

    /// All manifests may be others.
    func applyDecisions() {
        do throws(StoreError) {
            for record in state.apps.records.values { try applyDecision(about: record) }
        } catch {
            desk.trouble.note(error)
        }
    }

    /// The user has closed the question about an app without an answer: calls that wait are answered that nothing has
    /// changed, and the app may ask again.
    func unanswered(_ topic: String) {
        let status = state.apps[topic].map { self.status(of: $0) } ?? .notDetermined
        for (call, stream) in waiting.removeValue(forKey: topic) ?? [] {
            stream.tell(.answer(CenterAnswer(call: call, content: .authorization(status))))
        }
    }
}
