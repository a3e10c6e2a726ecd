import PostriderCourier
import PostriderNotifications

/// What lies in the inbox and is handed over to an app: once, in order, until the app has handled it.
enum Parcel: Hashable {
    /// A push.
    case remote(Deliver)
    /// A local notification whose moment has come.
    case fired(Fired)
    /// What the user has done with a notification.
    case responded(Responded)

    /// How the inbox's table says which it is.
    var kind: Int64 {
        switch self {
        case .remote: Self.remoteKind
        case .fired: 1
        case .responded: 2
        }
    }

    /// The kind of what ends with the registration at the relay.
    static let remoteKind: Int64 = 0

    /// Which parcel it is; an app is given one of each identity.
    var identity: NotificationIdentity {
        switch self {
        case .remote(let deliver): deliver.identity
        case .fired(let fired): fired.identity
        case .responded(let responded): responded.identity
        }
    }

    /// The app.
    var topic: String {
        switch self {
        case .remote(let deliver): deliver.topic
        case .fired(let fired): fired.topic
        case .responded(let responded): responded.topic
        }
    }

    /// The parcel as the reason of its app's start.
    var launch: LaunchReason {
        switch self {
        case .remote(let deliver): .remote(deliver)
        case .fired(let fired): .fired(fired)
        case .responded(let responded): .responded(responded)
        }
    }

    /// The push whose relay wants to know what becomes of it; nil: it is none.
    var reported: ReportedPush? {
        switch self {
        case .remote(let deliver):
            deliver.wantsReport ? ReportedPush(identity: deliver.apnsIdentity, push: deliver.push) : nil
        case .fired, .responded: nil
        }
    }

    /// Of two of an app and kind with the same of these, the newer replaces the older; nil: it replaces nothing.
    var collapse: String? {
        switch self {
        case .remote(let deliver): deliver.channel == nil ? deliver.collapseIdentifier : nil
        case .fired(let fired): fired.notice.request.identifier
        // Each is something that the user has done.
        case .responded: nil
        }
    }

    /// What is dropped last when an app's part of the inbox is full.
    var priority: Priority {
        switch self {
        case .remote(let deliver): deliver.priority
        case .fired, .responded: .immediate
        }
    }

    /// The parcel as the inbox keeps it.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .remote(let deliver): deliver.encode(into: &bytes)
        case .fired(let fired): fired.encode(into: &bytes)
        case .responded(let responded): responded.encode(into: &bytes)
        }
        return bytes
    }

    /// A parcel that the inbox has kept.
    init(kind: Int64, decoding bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case 1: self = .fired(try Fired(decoding: bytes))
        case 2: self = .responded(try Responded(decoding: bytes))
        default: self = .remote(try Deliver(decoding: bytes))
        }
    }

    /// What the app is told, as the delivery of this number.
    func message(_ number: UInt64) -> AgentMessage {
        switch self {
        case .remote(let deliver): .deliver(deliver.numbered(number))
        case .fired(let fired):
            .fired(
                Fired(
                    delivery: number, identity: fired.identity, topic: fired.topic, notice: fired.notice,
                    firedAt: fired.firedAt))
        case .responded(let responded):
            .responded(
                Responded(
                    delivery: number, identity: responded.identity, topic: responded.topic,
                    subject: responded.subject, action: responded.action, text: responded.text,
                    identifier: responded.identifier, at: responded.at))
        }
    }
}
