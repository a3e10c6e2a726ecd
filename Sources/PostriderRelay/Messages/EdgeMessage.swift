import PostriderCourier
import PostriderNotifications

/// The messages about a device whose connection and whose home are on different nodes. The node that has accepted the
/// connection is the *edge*.
///
/// A ``Notifications/ReplyAddress`` names such a device's session on both sides: the shard that has the connection,
/// and the connection's number there.
enum EdgeMessage: Sendable {
    /// To the home: a device at this address of the network has said hello.
    case open(Hello, host: String, ReplyAddress)
    /// To the home: a browser at this address of the network has said hello.
    case openBrowser(BrowserHello, host: String, ReplyAddress)
    /// To the home: a further message of the device, as it came.
    case said(DeviceIdentity, [UInt8], ReplyAddress)
    /// To the home: the connection has ended so; or nil, if the device has ended its stream and waits for its end by
    /// the home.
    case ended(DeviceIdentity, DevicePresence.Ending?, ReplyAddress)
    /// To the edge: bytes for the device's stream, or a text message for a browser. It leaves out a broadcast if too
    /// much waits to be sent to the device.
    case say(ReplyAddress, [UInt8], isBroadcast: Bool)
    /// To the edge: end the stream with this status and sentence; or cut the connection if there is no status. It is
    /// the home's last message about the session.
    case finish(ReplyAddress, GRPCStatus?, String)
    /// To the edge: close a browser's WebSocket with this code and reason. It is the home's last message about the
    /// session.
    case close(ReplyAddress, code: UInt16, String)
    /// To the edge: nobody takes messages of the device now. The edge says goodbye with this sentence.
    case refuse(ReplyAddress, String)
    /// To every shard of a node, and never sent to another node: a link has ended, whichever of the two has opened it.
    case linkEnded(link: Int)
}

/// What a browser has said to be let in.
struct BrowserHello: Sendable {
    let identity: WebIdentity
    /// The enrolment key in the URL with which it has connected; empty for none. A browser that is not known enrols.
    let enrolmentKey: String
}
