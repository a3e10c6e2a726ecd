import PostriderCourier
import PostriderNotifications

/// What a row of the inbox holds. It is handed over to an app, in order, until the app has handled it.
enum InboxContent: Hashable {
    /// A push.
    case remote(Deliver)
    /// A local notification whose moment has come.
    case fired(Fired)
    /// What the user did with a notification.
    case responded(Responded)

    /// Its kind in the inbox's table.
    var kind: Int64 {
        switch self {
        case .remote: Self.remoteKind
        case .fired: 1
        case .responded: 2
        }
    }

    /// The kind of messages that end with the registration at the relay.
    static let remoteKind: Int64 = 0

    /// The identity; an app is given one message of each identity.
    var identity: NotificationIdentity {
        switch self {
        case .remote(let deliver): deliver.identity
        case .fired(let fired): fired.identity
        case .responded(let responded): responded.identity
        }
    }

    /// The topic of the app.
    var topic: String {
        switch self {
        case .remote(let deliver): deliver.topic
        case .fired(let fired): fired.topic
        case .responded(let responded): responded.topic
        }
    }

    /// The parcel as the launch reason of its app.
    var launch: LaunchReason {
        switch self {
        case .remote(let deliver): .remote(deliver)
        case .fired(let fired): .fired(fired)
        case .responded(let responded): .responded(responded)
        }
    }

    /// The push whose end is reported to the relay; nil if this is no push, or if the relay did not ask for reports.
    var reported: ReportedPush? {
        switch self {
        case .remote(let deliver):
            deliver.wantsReport ? ReportedPush(identity: deliver.apnsIdentity, push: deliver.push) : nil
        case .fired, .responded: nil
        }
    }

    /// A parcel replaces an older one of its app and kind with the same value; nil if it replaces nothing.
    var collapse: String? {
        switch self {
        case .remote(let deliver): deliver.channel == nil ? deliver.collapseIdentifier : nil
        case .fired(let fired): fired.notice.request.identifier
        // Each response is an act of its own.
        case .responded: nil
        }
    }

    /// When an app's part of the inbox is full, the lowest priority is dropped first.
    var priority: Priority {
        switch self {
        case .remote(let deliver): deliver.priority
        case .fired, .responded: .immediate
        }
    }

    /// The parcel as the inbox stores it.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .remote(let deliver): deliver.encode(into: &bytes)
        case .fired(let fired): fired.encode(into: &bytes)
        case .responded(let responded): responded.encode(into: &bytes)
        }
        return bytes
    }

    /// Decodes a parcel that the inbox has stored.
    init(kind: Int64, decoding bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case 1: self = .fired(try Fired(decoding: bytes))
        case 2: self = .responded(try Responded(decoding: bytes))
        default: self = .remote(try Deliver(decoding: bytes))
        }
    }

    /// The message to the app, as the delivery of this number.
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
