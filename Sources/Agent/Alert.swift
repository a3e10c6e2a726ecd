import Courier
import Foundation
import Notifications

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
    /// Whether the relay wants to know what becomes of it.
    let isReported: Bool
    /// What is shown.
    let content: LocalContent
    /// How much it may disturb.
    let level: Level

    /// Nil: there is nothing in it for a user.
    init?(
        app: Int64, topic: String, identifier: String, identity: NotificationIdentity,
        subject: Responded.Subject, isReported: Bool
    ) {
        key = Key(topic: topic, identifier: identifier)
        self.app = app
        self.identity = identity
        self.subject = subject
        self.isReported = isReported
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
                isReported: deliver.wantsReport)
        case .fired(let fired):
            self.init(
                app: app, topic: fired.topic, identifier: fired.notice.request.identifier,
                identity: fired.identity, subject: .local(fired.notice), isReported: false)
        case .responded: return nil
        }
    }

    /// What a payload has under `aps` ("Generating a remote notification"). Texts that only the app's own bundle has
    /// (`loc-key`) cannot be shown.
    static func content(of payload: [UInt8]) -> (LocalContent, Level) {
        var content = LocalContent()
        content.userInfo = payload
        guard let aps = try? JSONDecoder().decode(Payload.self, from: Data(payload)).aps else {
            return (content, .active)
        }
        content.title = aps.title ?? ""
        content.subtitle = aps.subtitle ?? ""
        content.body = aps.body ?? ""
        content.badge = aps.badge.map { UInt32(clamping: $0) }
        content.sound = aps.sound ?? ""
        content.category = aps.category ?? ""
        content.thread = aps.thread ?? ""
        return (content, aps.level.flatMap(Level.init(rawValue:)) ?? .active)
    }
}

extension LocalContent {
    /// Whether there is something to read.
    var isVisible: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }
}

/// A push's payload, as far as it is about what the user sees. What has another type than Apple says counts as not
/// there.
private struct Payload: Decodable {
    let aps: Aps

    struct Aps: Decodable {
        let title: String?, subtitle: String?, body: String?
        let badge: Int?, sound: String?, category: String?, thread: String?, level: String?

        private enum Key: String, CodingKey {
            case alert, title, subtitle, body, badge, sound, name, category
            case thread = "thread-id"
            case level = "interruption-level"
        }

        init(from decoder: any Decoder) throws {
            let aps = try decoder.container(keyedBy: Key.self)
            let alert = try? aps.nestedContainer(keyedBy: Key.self, forKey: .alert)
            title = try? alert?.decode(String.self, forKey: .title)
            subtitle = try? alert?.decode(String.self, forKey: .subtitle)
            body =
                alert == nil
                ? try? aps.decode(String.self, forKey: .alert)
                : try? alert?.decode(String.self, forKey: .body)
            badge = try? aps.decode(Int.self, forKey: .badge)
            let critical = try? aps.nestedContainer(keyedBy: Key.self, forKey: .sound)
            sound =
                critical == nil
                ? try? aps.decode(String.self, forKey: .sound)
                : try? critical?.decode(String.self, forKey: .name)
            category = try? aps.decode(String.self, forKey: .category)
            thread = try? aps.decode(String.self, forKey: .thread)
            level = try? aps.decode(String.self, forKey: .level)
        }
    }
}
