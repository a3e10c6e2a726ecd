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
        var stage = PushProgress.Stage.done
        var seconds = query.isEmpty ? 0 : Limits.waitSeconds.usual
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first {
            case "wait":
                guard let named = PushProgress.Stage(rawValue: value) else {
                    let names = PushProgress.Stage.allCases.map(\.rawValue).joined(separator: ", ")
                    return respond(Self.refusal(400, "'wait' is one of \(names), not '\(value)'."))
                }
                stage = named
            case "timeout":
                guard let number = Int(value), 0...Limits.waitSeconds.most ~= number else {
                    let most = Limits.waitSeconds.most
                    return respond(
                        Self.refusal(400, "'timeout' is a number of seconds from 0 to \(most)."))
                }
                seconds = number
            default: return respond(Self.refusal(400, "A push is asked for with wait and timeout."))
            }
        }
        context.trace.ask(.wait(identity, stage, seconds: seconds)) { respond(Self.answer($0)) }
    }
}
