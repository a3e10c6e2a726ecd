import PostriderCrypto
import PostriderEvidence
import PostriderNotifications
import PostriderProviderAPI

/// Signs statements about pushes with the relay's key (docs/operate/evidence.md). It lives on shard 0.
final class EvidenceRoutes {
    typealias Respond = ControlHandler.Respond

    private let context: ShardContext
    private let directory: DeviceDirectory
    private let signer: EvidenceSigner
    private let nodes: NodeQueries

    /// The pushes of one `apns-id` that a statement tells: a provider that tries again uses the same.
    private static let mostPushes = 20

    init(
        _ context: ShardContext, _ directory: DeviceDirectory, _ signer: EvidenceSigner,
        _ nodes: NodeQueries
    ) {
        self.context = context
        self.directory = directory
        self.signer = signer
        self.nodes = nodes
    }

    /// `GET /v1/evidence-key`.
    func showKey(_ respond: Respond) {
        do throws(EvidenceSigner.Unavailable) {
            let key = try signer.key().publicKey
            respond(
                ControlHandler.answer(
                    Control.EvidenceKey(
                        relay: signer.name, publicKey: key.pem, fingerprint: key.fingerprint.description)))
        } catch {
            respond(ControlHandler.refusal(503, error.description))
        }
    }

    /// `GET /v1/pushes/<apns-id>/evidence`.
    func state(_ text: String, _ respond: @escaping Respond) {
        guard let identity = NotificationIdentity(text) else {
            return respond(
                ControlHandler.refusal(400, "An apns-id is a UUID of 36 characters, not '\(text)'."))
        }
        guard context.trace.missing != nil else {
            return respond(
                ControlHandler.refusal(404, "This relay keeps no trace: set 'trace' to true."))
        }
        guard nodes.cluster == nil else { return stateOfAll(identity, respond) }
        var filter = TraceFilter()
        filter.identity = identity
        context.trace.ask(.search(filter, last: Self.mostPushes)) { [self] answer in
            guard case .pushes(let trace) = answer else { return respond(ControlHandler.answer(answer)) }
            respond(sign(trace, of: identity) { [directory] in directory[$0]?.name.text })
        }
    }

    /// States what all nodes of the cluster know, with the key of this one.
    private func stateOfAll(_ identity: NotificationIdentity, _ respond: @escaping Respond) {
        nodes.askAll(.trace(query: "id=\(identity)&last=\(Self.mostPushes)")) { [self] answers in
            if let refusal = answers.refusal { return respond(refusal) }
            nodes.findLives(in: answers, last: Self.mostPushes) { [self] trace, gap in
                nodes.askAll(.labels(Set(trace.pushes.compactMap(\.device)).sorted())) { [self] answers in
                    let labels = answers.read(as: [Control.LabelledDevice].self).all.flatMap { $0 }
                    let names = Dictionary(labels.map { ($0.identity, $0.name) }, uniquingKeysWith: { $1 })
                    var answer = sign(trace, of: identity, gap) { names[$0.description] }
                    answer.gap = gap
                    respond(answer)
                }
            }
        }
    }

    private func sign(
        _ trace: Control.Trace, of identity: NotificationIdentity, _ gap: String? = nil,
        name: (DeviceIdentity) -> String?
    ) -> ControlHandler.Answer {
        guard !trace.pushes.isEmpty else {
            if let gap {
                return ControlHandler.refusal(
                    503, "No node that has answered knows the push \(identity). \(gap) Ask again.")
            }
            guard let refusal = trace.refusals.last else {
                return ControlHandler.refusal(
                    404,
                    "The trace does not know the push \(identity): it never came, is too long ago, or is not "
                        + "in the sample (1 of \(trace.sample)).")
            }
            return ControlHandler.refusal(
                404,
                "The relay has refused the push \(identity) with \(refusal.status) \(refusal.reason): there "
                    + "is nothing to state.")
        }
        do throws(EvidenceSigner.Unavailable) {
            let statement = EvidenceStatement(
                relay: EvidenceStatement.Relay(name: signer.name),
                signedAt: EvidenceStatement.time(context.now.milliseconds),
                pushes: trace.pushes.map { told($0, name: name) },
                remarks: Self.remarks(trace) + (gap.map { [$0] } ?? []))
            let evidence = Evidence(statement, signedBy: try signer.key())
            return ControlHandler.answer(Control.SignedEvidence(evidence: evidence.text))
        } catch {
            return ControlHandler.refusal(503, error.description)
        }
    }

    private func told(
        _ push: Control.TracedPush, name: (DeviceIdentity) -> String?
    ) -> EvidenceStatement.Push {
        var told = EvidenceStatement.Push(push)
        guard let device = push.device.flatMap(DeviceIdentity.init(hex:)),
            let registration = push.registration
        else { return told }
        let token = context.codec.seal(device, RegistrationNumber(registration)).description
        told.device = EvidenceStatement.Device(
            identity: device.description, name: name(device),
            tokenSHA256: SHA256.digest(Array(token.utf8).span).description)
        return told
    }

    /// What the trace does not know about these pushes.
    private static func remarks(_ trace: Control.Trace) -> [String] {
        var remarks: [String] = []
        if trace.pushes.count == mostPushes {
            remarks.append("There may be earlier pushes with this apns-id: the last \(mostPushes) are told.")
        }
        if trace.pushes.contains(where: \.isCut) {
            remarks.append("A push has more steps than are told; its last step is the last one.")
        }
        if trace.lost > 0 {
            remarks.append(
                "The trace has lost \(trace.lost) records since the relay was started: steps may be missing.")
        }
        if trace.pushes.contains(where: { $0.payloadSHA256 == nil }) {
            remarks.append("An earlier version of the relay has not recorded the digest of a payload.")
        }
        return remarks
    }
}

extension Control {
    /// `GET /v1/pushes/<apns-id>/evidence`.
    public struct SignedEvidence: Codable, Sendable {
        /// The text of the `Evidence`.
        public var evidence: String
    }

    /// `GET /v1/evidence-key`.
    public struct EvidenceKey: Codable, Sendable {
        /// The relay's name in its statements.
        public var relay: String
        /// The key with which its evidence is checked, as PEM (`BEGIN PUBLIC KEY`).
        public var publicKey: String
        /// SHA-256 of the key in DER, in hexadecimal.
        public var fingerprint: String
    }
}

extension EvidenceStatement.Push {
    /// What the trace knows of a push, without its device.
    fileprivate init(_ push: Control.TracedPush) {
        let certificate = push.hasCertificate ? "certificate" : "unknown"
        self.init(
            apnsID: push.identity, acceptedAt: EvidenceStatement.time(push.acceptedAt),
            provider: push.key.map { "key \($0)" } ?? certificate, topic: push.topic,
            environment: push.environment.rawValue)
        pushType = push.pushType
        priority = Int(push.priority)
        expiresAt = push.expiresAt.map(EvidenceStatement.time)
        payloadBytes = push.payloadBytes
        payloadSHA256 = push.payloadSHA256
        channel = push.channel
        node = push.node
        steps = push.events.map { event in
            EvidenceStatement.Step(
                at: EvidenceStatement.time(event.at), what: event.what, meaning: event.meaning,
                saidBy: event.isOfDevice ? "device" : "relay",
                deviceAt: event.deviceAt.map(EvidenceStatement.time), text: event.text, node: event.node)
        }
    }
}

extension Control.TracedEvent {
    private var kind: TraceEvent.Kind? { TraceEvent.Kind.allCases.first { "\($0)" == what } }

    /// Whether the device has reported it.
    fileprivate var isOfDevice: Bool {
        switch kind {
        case .handedOver, .shown, .actedOn, .replacedOnDevice, .begun, .done, .failed, .gaveUp, .postponed:
            true
        default: false
        }
    }

    /// What has happened, as a sentence for somebody who does not know the relay.
    fileprivate var meaning: String {
        let number = devices ?? 0
        return switch kind {
        case .stored: "The relay has the push on its disk."
        case .sent: "The relay has written the push to the device's connection."
        case .returned: "The connection was lost before the device acknowledged the push."
        case .recalled: "The push waits again: the one that had replaced it could not be stored."
        case .acknowledged: "The device has acknowledged that it has stored the push."
        case .replaced: "A newer push took its place\(other.map { ": \($0)" } ?? "")."
        case .merged: "The same push was there already, and the two became one."
        case .expired: "The push expired before the device had it."
        case .discarded: "The push was for now or never, and the device was not connected."
        case .dropped: "The relay has given the push up\(cause.map { ": \($0)" } ?? "")."
        case .handedOver: "The device says that its app has received the push."
        case .shown: "The device says that the user was shown it."
        case .actedOn: "The device says that the user has acted on it."
        case .broadcast: "The relay has written the push to the connections of \(number) devices."
        case .skipped: "The relay has not written the push to \(number) devices, because too much waited."
        case .replacedOnDevice: "The device says that a newer push took its place."
        case .begun: "The device says that it has started the push's handler."
        case .done: "The device says that the push's handler has ended with exit code 0."
        case .failed: "The device says that app or handler has failed, and is given the push again."
        case .gaveUp: "The device says that app or handler has failed for good."
        case .postponed: "The device says that the handler asks to be started later."
        case .started, nil: "Something happened that this version does not know."
        }
    }
}
