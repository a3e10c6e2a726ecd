import PostriderNotifications
import PostriderProviderAPI

/// What a node of a cluster asks another one for an operator or a provider. The other node answers for itself alone,
/// with the JSON of the operator's interface (docs/reference/control.md).
enum NodeQuestion: Sendable, Equatable {
    /// `GET /v1/status`.
    case status
    /// The identities, names and tags of the devices that have one of these names or identities.
    case labels([String])
    /// `GET /v1/devices` with this query. A name that no device has is no mistake.
    case devices(query: String)
    /// `PATCH /v1/devices/<device>` with this body.
    case change(DeviceIdentity, [UInt8])
    /// `DELETE /v1/devices/<device>`.
    case remove(DeviceIdentity)
    /// `GET /v1/history`.
    case history
    /// `GET /v1/trace` with this query.
    case trace(query: String)
    /// `GET /v1/pushes/<apns-id>`: how far a push has come.
    case progress(PushInquiry)
    /// The device tokens that a provider looks up.
    case lookUp(DeviceLookup)
    /// `GET /v1/channels` with this query.
    case channels(query: String)
    /// The number of subscribers that each of these channels has, in their order.
    case subscribers([ChannelIdentity])
    /// Read what every node has, such as keys and topics, which the asker has changed. The answer comes when it is in
    /// force.
    case readAccess
    /// The events of the node's devices after this cursor; an empty one is the end.
    case deviceEvents(after: String)
    /// What the node has recorded of pushes that other nodes have accepted, because it has their devices since then.
    case traceEvents([TracedRow])
    /// For each of these devices, the oldest device of the node that calls itself the same and has enrolled since.
    case successors([AbsentDevice])
    /// The oldest device of the node that may have the name of a removed one (``DeviceDirectory/heir(of:)``).
    case heir(DeviceName)
    /// Give this device the name of one that was removed.
    case inherit(DeviceName, by: DeviceIdentity)
}

/// A question of how far a push has come.
struct PushInquiry: Sendable, Equatable {
    let identity: NotificationIdentity
    var wait: PushWait
    /// The app and the environment that it must have; nil for any.
    var topic: Topic?
    var environment: Environment?
    /// The push, once a node has told which it is: then every node says what it knows of it.
    var known: TracedRow?

    /// The pushes that may be meant.
    var filter: TraceFilter { TraceFilter(topic: topic, environment: environment, known: known) }
}

/// The questions of one node to another, and their answers, which come in pieces.
///
/// The address is that of the question: each has a number of its own. A node sends the next piece when the asker wants
/// it, so that a long answer does not fill the link that pushes use.
enum NodeQuery: Sendable {
    /// To shard 0 of another node: a question; nil if this version does not know it.
    case ask(NodeQuestion?, ReplyAddress)
    /// To shard 0 of another node: the asker has the last piece, and wants the next one.
    case goOn(ReplyAddress)
    /// To the shard that has asked: a piece of the answer.
    case answer(NodeAnswerPiece, ReplyAddress)
    /// To the shard that has asked, within its node: the message could not be sent.
    case unsent(ReplyAddress)
}

/// A piece of an answer.
struct NodeAnswerPiece: Sendable, Equatable {
    /// The status of the whole answer, as in HTTP.
    let status: Int
    let bytes: [UInt8]
    let isLast: Bool

    /// The whole answer of a node that cannot answer, or does not know the question. The asker names the node, and
    /// needs no reason.
    static let none = NodeAnswerPiece(status: 503, bytes: [], isLast: true)
}
