import Courier
import Notifications
import PostriderJSON

/// Something that an app's user is to see: a local notification whose moment has come, or a push with an alert.
struct Alert: Equatable {
    /// By what it is replaced and revoked: the app's name for it, the collapse identifier of a push, or its `apns-id`.
    struct Key: Hashable {
        let topic: String
        let identifier: String
    }

    /// How much it may disturb, as Apple's `interruption-level`.
    enum Level: String {
        case passive
        case active
        case timeSensitive = "time-sensitive"
        case critical
    }

    let key: Key
    /// The app's number.
    let app: Int64
    /// Which parcel it came with.
    let identity: NotificationIdentity
    /// What a response is a response to.
    let subject: Responded.Subject
    /// The push whose relay wants to know what becomes of it; nil: there is no such.
    let reported: ReportedPush?
    /// What is shown.
    let content: LocalContent
    /// How much it may disturb.
    let level: Level

    /// Nil: there is nothing in it for a user.
    init?(
        app: Int64, topic: String, identifier: String, identity: NotificationIdentity,
        subject: Responded.Subject, reported: ReportedPush?
    ) {
        key = Key(topic: topic, identifier: identifier)
        self.app = app
        self.identity = identity
        self.subject = subject
        self.reported = reported
        switch subject {
        case .local(let notice): (content, level) = (notice.request.content, .active)
        case .remote(let payload): (content, level) = Self.content(of: payload)
        }
        guard content.isVisible || content.badge != nil else { return nil }
    }

    /// What a parcel shows; nil: nothing.
    init?(_ parcel: Parcel, of app: Int64) {
        switch parcel {
        case .remote(let deliver):
            // Other types of pushes are for the app's eyes only.
            guard (deliver.pushType ?? PushType.alert.rawValue) == PushType.alert.rawValue else { return nil }
            self.init(
                app: app, topic: deliver.topic,
                identifier: deliver.collapseIdentifier ?? deliver.identity.description,
                identity: deliver.identity, subject: .remote(payload: deliver.payload),
                reported: parcel.reported)
        case .fired(let fired):
            self.init(
                app: app, topic: fired.topic, identifier: fired.notice.request.identifier,
                identity: fired.identity, subject: .local(fired.notice), reported: nil)
        case .responded: return nil
        }
    }

    /// What a payload has under `aps` ("Generating a remote notification"). Texts that only the app's own bundle has
    /// (`loc-key`) cannot be shown. A member of another type than Apple says counts as missing.
    static func content(of payload: [UInt8]) -> (LocalContent, Level) {
        var content = LocalContent()
        content.userInfo = payload
        let aps = JSONValue.members(ofObject: payload.span)?["aps"]?.object ?? [:]
        let alert = aps["alert"]?.object
        content.title = alert?["title"]?.string ?? ""
        content.subtitle = alert?["subtitle"]?.string ?? ""
        content.body = (alert.map { $0["body"] } ?? aps["alert"])?.string ?? ""
        content.badge = aps["badge"]?.wholeNumber.map { UInt32(clamping: $0) }
        // A critical alert's sound is an object.
        content.sound = (aps["sound"]?.object.map { $0["name"] } ?? aps["sound"])?.string ?? ""
        content.category = aps["category"]?.string ?? ""
        content.thread = aps["thread-id"]?.string ?? ""
        return (content, aps["interruption-level"]?.string.flatMap(Level.init(rawValue:)) ?? .active)
    }
}

extension LocalContent {
    /// Whether there is something to read.
    var isVisible: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}
