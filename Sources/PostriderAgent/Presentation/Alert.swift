import PostriderCourier
import PostriderJSON
import PostriderNotifications

/// Something that an app's user shall see: a local notification that is due, or a push with an alert.
struct Alert: Equatable {
    /// What identifies an alert when it is replaced or revoked: the app's identifier, the collapse identifier of a
    /// push, or its `apns-id`.
    struct Key: Hashable {
        let topic: String
        let identifier: String
    }

    let key: Key
    /// The app's number.
    let app: Int64
    /// The identity of its parcel.
    let identity: NotificationIdentity
    /// What a response to it refers to.
    let subject: Responded.Subject
    /// The push to report about; nil if it is not a push, or the relay did not ask for reports.
    let reported: ReportedPush?
    /// What is shown.
    let content: LocalContent
    /// How much it may disturb.
    private(set) var level: InterruptionLevel
    /// The presentation options that the app may use.
    private(set) var permitted = PresentationOptions.all
    /// Whether a button leads to the app's own settings.
    private(set) var offersSettings = false
    /// When it was due, or when the push arrived; nil if an earlier agent has stored it.
    let at: Moment?
    /// Whether its service extension has changed it already.
    let isChanged: Bool
    /// Whether its provider wants a service extension to change it (`mutable-content`).
    let isMutable: Bool

    /// Nil if there is nothing in it for a user to see.
    init?(
        app: Int64, topic: String, identifier: String, identity: NotificationIdentity,
        subject: Responded.Subject, reported: ReportedPush?, at: Moment? = nil, isChanged: Bool = false
    ) {
        self.at = at
        self.isChanged = isChanged
        key = Key(topic: topic, identifier: identifier)
        self.app = app
        self.identity = identity
        self.subject = subject
        self.reported = reported
        switch subject {
        case .local(let notice): (content, isMutable) = (notice.request.content, false)
        case .remote(let payload): (content, isMutable) = Self.content(of: payload)
        }
        level = content.level
        guard content.isVisible || content.badge != nil else { return nil }
    }

    /// The alert of a parcel; nil if it has none.
    init?(_ parcel: InboxContent, of app: Int64, at: Moment? = nil) {
        switch parcel {
        case .remote(let deliver):
            // Other push types are for the app only.
            guard (deliver.pushType ?? PushType.alert.rawValue) == PushType.alert.rawValue else { return nil }
            self.init(
                app: app, topic: deliver.topic,
                identifier: deliver.collapseIdentifier ?? deliver.identity.description,
                identity: deliver.identity, subject: .remote(payload: deliver.payload),
                reported: parcel.reported, at: at)
        case .fired(let fired):
            self.init(
                app: app, topic: fired.topic, identifier: fired.notice.request.identifier,
                identity: fired.identity, subject: .local(fired.notice), reported: nil, at: fired.notice.at)
        case .responded: return nil
        }
    }

    /// The alert with the options that its app has.
    func allowed(by center: CenterRecord) -> Alert {
        let granted = center.options
        var alert = self
        alert.permitted = granted.contains(.alert) ? [.banner, .list] : []
        if granted.contains(.badge) { alert.permitted.insert(.badge) }
        if granted.contains(.sound) { alert.permitted.insert(.sound) }
        alert.offersSettings = granted.contains(.providesSettings)
        if level == .critical, !granted.contains(.criticalAlert) { alert.level = .timeSensitive }
        if center.status == .provisional { alert.level = .passive }
        return alert
    }

    /// The alert with the payload that its service extension has made; nil if that has no text.
    func changed(to payload: [UInt8]) -> Alert? {
        let alert = Alert(
            app: app, topic: key.topic, identifier: key.identifier, identity: identity,
            subject: .remote(payload: payload), reported: reported, at: at, isChanged: true)
        return alert?.content.isVisible == true ? alert : nil
    }

    /// Reads the `aps` object of a payload ("Generating a remote notification"). Texts that are only in the app's
    /// bundle (`loc-key`) cannot be shown. A member of a type that Apple does not allow counts as missing.
    static func content(of payload: [UInt8]) -> (LocalContent, isMutable: Bool) {
        var content = LocalContent()
        content.userInfo = payload
        let aps = JSONValue.members(ofObject: payload.span)?["aps"]?.object ?? [:]
        let alert = aps["alert"]?.object
        content.title = alert?["title"]?.string ?? ""
        content.subtitle = alert?["subtitle"]?.string ?? ""
        content.body = (alert.map { $0["body"] } ?? aps["alert"])?.string ?? ""
        content.badge = aps["badge"]?.wholeNumber.map { UInt32(clamping: $0) }
        // The sound of a critical alert is an object.
        content.sound = (aps["sound"]?.object.map { $0["name"] } ?? aps["sound"])?.string ?? ""
        content.category = aps["category"]?.string ?? ""
        content.thread = aps["thread-id"]?.string ?? ""
        content.level = aps["interruption-level"]?.string.flatMap { InterruptionLevel(word: $0) } ?? .active
        content.relevance = aps["relevance-score"]?.double.map { $0 > 0 ? min($0, 1) : 0 } ?? 0
        return (content, aps["mutable-content"]?.wholeNumber == 1)
    }
}

extension LocalContent {
    /// Whether there is text to show.
    var isVisible: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}

extension InterruptionLevel {
    /// The level for a value of `interruption-level`; nil if there is no such level.
    fileprivate init?(word: String) {
        switch word {
        case "passive": self = .passive
        case "active": self = .active
        case "time-sensitive": self = .timeSensitive
        case "critical": self = .critical
        default: return nil
        }
    }
}
