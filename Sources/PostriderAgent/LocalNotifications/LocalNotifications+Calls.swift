import FoundationEssentials
import PostriderCourier
import PostriderJSON
import PostriderNotifications
import PostriderSchedules
import PostriderStorage

// The calls of apps to their user notification centres.
extension LocalNotifications {
    /// An app makes a call.
    func take(_ call: CenterCall, from stream: AppStream) {
        do {
            guard stream.isListening else { throw CenterRefusal.deaf }
            let record = try authorizations.admit(call.topic, for: stream)
            guard let answer = try answer(call.order, of: record, to: stream, call: call.call) else { return }
            stream.tell(.answer(CenterAnswer(call: call.call, content: answer)))
        } catch let refusal as CenterRefusal {
            let content = CenterAnswer.Content.refused(
                refusal.sentence, isForbidden: refusal.isForbidden)
            stream.tell(.answer(CenterAnswer(call: call.call, content: content)))
        } catch {
            let content = CenterAnswer.Content.refused(authorizations.sentence(error), isForbidden: false)
            stream.tell(.answer(CenterAnswer(call: call.call, content: content)))
        }
    }

    /// The answer to a call; nil if it is answered later, or was answered by another message.
    private func answer(
        _ order: CenterOrder, of record: AppRecord, to stream: AppStream, call: UInt64
    ) throws -> CenterAnswer.Content? {
        switch order {
        case .add(let request):
            try add(request, to: record)
            return .done
        case .removePending(let identifiers):
            try remove(identifiers, of: record, .pending)
            try setAlarm()
            return .done
        case .removeDelivered(let identifiers):
            try remove(identifiers, of: record, .delivered)
            if case .some(let some) = identifiers {
                state.presentation.add(.revoked(topic: record.topic.text, identifiers: some))
            } else {
                state.presentation.add(.revoked(topic: record.topic.text, identifiers: nil))
            }
            return .done
        case .list(let kind):
            for notice in try state.schedule.notices(of: record.number, kind) {
                stream.tell(.answer(CenterAnswer(call: call, content: .item(notice))))
            }
            return .done
        case .requestAuthorization(let options): return try authorizations.ask(options, record, stream, call)
        case .settings(detailed: false): return .authorization(authorizations.status(of: record))
        case .settings(detailed: true):
            return .settings((state.centers[record.number] ?? CenterRecord()).settings)
        case .setBadge(let count):
            guard try authorizations.setBadge(count, of: record) else { throw CenterRefusal.forbidden }
            return .done
        case .setCategories(let categories):
            var center = state.centers[record.number] ?? CenterRecord()
            center.categories = categories
            try state.centers.put(center, of: record.number)
            return .done
        case .categories: return .categories(state.centers[record.number]?.categories ?? [])
        case .unknown: throw CenterRefusal.unknown
        }
    }

    private func add(_ request: LocalRequest, to record: AppRecord) throws {
        guard authorizations.status(of: record).allowsNotifications else { throw CenterRefusal.forbidden }
        let identifierBytes = request.identifier.utf8.count
        guard (1...Limits.localIdentifierBytes).contains(identifierBytes) else {
            throw CenterRefusal.identifier(bytes: identifierBytes)
        }
        if let flaw = request.trigger?.flaw { throw CenterRefusal.trigger(flaw) }
        let userInfo = request.content.userInfo
        guard userInfo.isEmpty || JSONSyntax.isObject(userInfo.span) else { throw CenterRefusal.userInfo }
        var bytes: [UInt8] = []
        request.encode(into: &bytes)
        guard bytes.count <= Limits.localRequestBytes else {
            throw CenterRefusal.tooLarge(bytes: bytes.count)
        }
        try lookAgain()
        let now = now
        guard let trigger = request.trigger else {
            try state.transaction { () throws(StoreError) in
                try state.schedule.remove(.some([request.identifier]), of: record.number, .pending)
                try deliver(LocalNotice(request: request, at: now), to: record, now)
            }
            streams.markDue(record.topic.text)
            return
        }
        guard try !state.schedule.isFull(record.number, for: request.identifier) else {
            throw CenterRefusal.tooManyPending
        }
        let zone = zone()
        guard let moment = trigger.firstMoment(scheduledAt: now, onDeviceIn: zone) else {
            throw CenterRefusal.trigger(trigger.absence(scheduledAt: now, onDeviceIn: zone))
        }
        try state.schedule.put(LocalNotice(request: request, at: moment), of: record.number, as: .pending)
        try setAlarm()
    }

    private func remove(
        _ identifiers: CenterOrder.Identifiers, of record: AppRecord, _ kind: NoticeKind
    ) throws(StoreError) {
        try state.transaction { () throws(StoreError) in
            try state.schedule.remove(identifiers, of: record.number, kind)
        }
    }
}

/// Why a user notification centre refuses a call.
enum CenterRefusal: Error {
    case forbidden
    case identifier(bytes: Int)
    case trigger(TriggerFlaw)
    case userInfo
    case tooLarge(bytes: Int)
    case tooManyPending
    case tooManyWaiting
    case deaf
    case unknown

    var isForbidden: Bool { if case .forbidden = self { true } else { false } }

    var sentence: String {
        switch self {
        case .forbidden: "The owner of the device has not allowed this app to notify."
        case .identifier(let bytes):
            "identifier: it has \(bytes) bytes, but must have 1 to \(Limits.localIdentifierBytes)."
        case .trigger(let flaw): flaw.description
        case .userInfo:
            "user_info: it must be empty or a JSON object in UTF-8 of at most \(Limits.jsonDepth) levels."
        case .tooLarge(let bytes):
            "The notification has \(bytes) bytes; it may have \(Limits.localRequestBytes) with its content."
        case .tooManyPending:
            "The app has \(Limits.pendingPerTopic) notifications pending, the most: remove one first."
        case .tooManyWaiting:
            "\(Limits.waitingCallsPerTopic) requests of the app wait for the device's owner already."
        case .deaf: "The app asks more without reading its answers."
        case .unknown: "The agent does not know this order: it comes from a later version of the kit."
        }
    }
}
