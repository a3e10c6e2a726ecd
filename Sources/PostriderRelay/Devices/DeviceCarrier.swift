import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// What carries the messages between a device's session at its home and the device.
enum DeviceCarrier {
    /// Nothing: the device has no stream yet, or not any more.
    case none
    /// A stream of a connection that this shard has.
    case stream(HTTP2Handler, Int32)
    /// The link to the node that has accepted the device's connection.
    case edge(DeviceEdge)

    /// Whether there is nothing that would carry a message.
    var isMissing: Bool { if case .none = self { true } else { false } }

    /// The address of the session at the edge; nil if the connection is on this shard.
    var edge: DeviceEdge? { if case .edge(let edge) = self { edge } else { nil } }

    /// The bytes that wait to be sent to the device. An edge does not tell its home.
    var outboundBytes: Int {
        guard case .stream(let endpoint, let stream) = self else { return 0 }
        return endpoint.streams.outboundBytes(stream)
    }

    /// Sends the bytes that `write` appends: messages with their prefixes.
    func send(_ write: (inout [UInt8]) -> Void) {
        switch self {
        case .none: break
        case .stream(let endpoint, let stream): endpoint.streams.send(stream, write)
        case .edge(let edge):
            var frame: [UInt8] = []
            write(&frame)
            edge.say(frame, isBroadcast: false)
        }
    }

    /// Sends a broadcast, whose bytes many devices share.
    func send(shared frame: [UInt8]) {
        switch self {
        case .none: break
        case .stream(let endpoint, let stream): endpoint.streams.send(stream, shared: frame)
        case .edge(let edge): edge.say(frame, isBroadcast: true)
        }
    }

    /// Ends the stream with a status and a sentence. Nothing is sent after that.
    func finish(_ status: GRPCStatus, _ sentence: String) {
        switch self {
        case .none: break
        case .stream(let endpoint, let stream):
            endpoint.streams.finish(stream, trailers: GRPCResponse.trailers(status, sentence))
        case .edge(let edge): edge.finish(status, sentence)
        }
    }

    /// Cuts the connection, after what was sent before if `isOrderly`. The session hears of the end later.
    func cut(isOrderly: Bool) {
        switch self {
        case .none: break
        case .stream(let endpoint, _) where isOrderly: endpoint.wire?.close(.localClose)
        case .stream(let endpoint, _): endpoint.wire?.abort(.localClose)
        case .edge(let edge): edge.finish(nil, "")
        }
    }
}

/// The other end of a session at its home: the connection on the node that has accepted it.
final class DeviceEdge {
    /// The session's address there, with the link over which it is reached.
    let address: ReplyAddress
    /// The address of the device's machine; empty if unknown.
    let host: String
    private let outbox: Outbox

    init(_ address: ReplyAddress, host: String, _ outbox: Outbox) {
        self.address = address
        self.host = host
        self.outbox = outbox
    }

    /// Sends bytes for the device's stream.
    func say(_ frame: [UInt8], isBroadcast: Bool) { send(.say(address, frame, isBroadcast: isBroadcast)) }

    /// Sends the last message about the session.
    func finish(_ status: GRPCStatus?, _ sentence: String) { send(.finish(address, status, sentence)) }

    /// Sends the last message about the session of a browser.
    func close(code: UInt16, _ reason: String) { send(.close(address, code: code, reason)) }

    private func send(_ message: EdgeMessage) {
        outbox.send(.edge(message), to: Int(address.shard))
    }
}
