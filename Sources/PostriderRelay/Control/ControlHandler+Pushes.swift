import PostriderNotifications

/// How far a push has come, for any program that asks (docs/reference/control.md).
extension ControlHandler {
    /// `GET /v1/pushes/<apns-id>?wait=STAGE&timeout=SECONDS`: answers when the push has reached the stage, when it
    /// cannot reach it any more, or when the time is over.
    func pushState(_ text: String, _ query: Substring, _ respond: @escaping Respond) {
        guard let identity = NotificationIdentity(text) else {
            return respond(
                Self.refusal(400, "An apns-id is a UUID of 36 characters, not '\(text)'."))
        }
        do throws(PushWait.Mistake) {
            let inquiry = PushInquiry(identity: identity, wait: try PushWait(query))
            queries.nodes.findProgress(inquiry) { answer, gap in
                var answer = Self.answer(answer)
                answer.gap = gap
                respond(answer)
            }
        } catch {
            respond(Self.refusal(400, error.sentence))
        }
    }
}
