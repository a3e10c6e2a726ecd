import FoundationEssentials
import PostriderCourier
import PostriderJSON
import PostriderNotifications
import PostriderSchedules
import PostriderStorage

// The calls of apps to their user notification centres.
extension LocalNotifications {
    /// An app attaches to its topic without asking for a token.
    func attach(_ topic: String, for stream: AppStream) {
        do {
            let record = try admit(topic, for: stream)
            router.attach(stream, to: topic)
            stream.tell(.authorization(Authorization(topic: topic, status: status(of: record))))
        } catch {
            stream.tell(.refused(Refused(topic: topic, reason: sentence(error))))
        }
    }

    /// Tells an app that registers the owner's decision about its alerts, if it has used its centre.
    func tellStatus(of record: AppRecord, to stream: AppStream) {
        guard let center = state.centers[record.number] else { return }
        let topic = record.topic.text
        stream.tell(.authorization(Authorization(topic: topic, status: center.status)))
    }

    /// An app makes a call.
    func take(_ call: CenterCall, from stream: AppStream) {
        do {
            guard stream.isListening else { throw CenterRefusal.deaf }
            let record = try admit(call.topic, for: stream)
            guard let answer = try answer(call.order, of: record, to: stream, call: call.call) else { return }
            stream.tell(.answer(CenterAnswer(call: call.call, content: answer)))
        } catch let refusal as CenterRefusal {
            let content = CenterAnswer.Content.refused(
                refusal.sentence, isForbidden: refusal.isForbidden)
            stream.tell(.answer(CenterAnswer(call: call.call, content: content)))
        } catch {
            let content = CenterAnswer.Content.refused(sentence(error), isForbidden: false)
            stream.tell(.answer(CenterAnswer(call: call.call, content: content)))
        }
    }

    /// An app's stream has ended, and with it its calls that wait.
    func left(_ stream: AppStream) {
        waiting = waiting.mapValues { $0.filter { $0.stream !== stream } }.filter { !$0.value.isEmpty }
    }

    private func admit(_ topic: String, for stream: AppStream) throws -> AppRecord {
        let record = try router.admit(topic, in: nil, for: stream)
        if state.centers[record.number] == nil { try state.centers.put(CenterRecord(), of: record.number) }
        try applyDecision(about: record)
        return record
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
                router.presenter?.revoke(some, of: record.topic.text)
            } else {
                router.presenter?.revoke(nil, of: record.topic.text)
            }
            return .done
        case .list(let kind):
            for notice in try state.schedule.notices(of: record.number, kind) {
                stream.tell(.answer(CenterAnswer(call: call, content: .item(notice))))
            }
            return .done
        case .requestAuthorization(let options): return try ask(options, record, stream, call)
        case .settings(detailed: false): return .authorization(status(of: record))
        case .settings(detailed: true):
            return .settings((state.centers[record.number] ?? CenterRecord()).settings)
        case .setBadge(let count):
            guard try setBadge(count, of: record) else { throw CenterRefusal.forbidden }
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
        guard status(of: record).allowsNotifications else { throw CenterRefusal.forbidden }
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
            router.markDue(record.topic.text)
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

    /// Sets the badge of an app's icon. Returns false if the app may not have one.
    func setBadge(_ count: UInt32, of record: AppRecord) throws(StoreError) -> Bool {
        guard var center = state.centers[record.number], center.options.contains(.badge) else { return false }
        center.badge = count
        try state.centers.put(center, of: record.number)
        router.presenter?.showBadge(of: record.topic.text)
        return true
    }

    func status(of record: AppRecord) -> AuthorizationStatus {
        state.centers[record.number]?.status ?? .notDetermined
    }

    private func ask(
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
            router.presenter?.consent.ask(about: topic, of: router.owner(of: record))
            return nil
        }
        return .authorization(status(of: record))
    }

    private func sentence(_ error: any Error) -> String {
        if let refusal = error as? AppRefusal { return refusal.reason }
        router.trouble.note(error)
        return "The agent cannot store that now."
    }
}

/// Why a user notification centre refuses a call.
private enum CenterRefusal: Error {
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
