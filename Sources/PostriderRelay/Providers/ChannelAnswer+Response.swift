import PostriderChannels
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI

/// What a provider is answered about channels and broadcasts.
extension ChannelAnswer {
    var rejection: Rejection? {
        if case .rejected(let rejection) = self { rejection } else { nil }
    }

    var status: Int {
        switch self {
        case .created: 201
        case .settings, .list, .accepted: 200
        case .removed: 204
        case .rejected(let rejection): rejection.status
        }
    }

    /// The JSON of the answer; empty if it has none.
    func body(usesLiveSpellings: Bool) -> [UInt8] {
        switch self {
        case .settings(let storage):
            Array(#"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#.utf8)
        case .list(let channels): Self.body(listing: channels)
        case .created, .removed, .accepted: []
        case .rejected(let rejection): rejection.channelBody(usesLiveSpellings: usesLiveSpellings)
        }
    }

    /// Adds the answer's header fields to an empty block. `echo` is what the request is answered with in any case.
    func write(to block: inout HeaderBlock, _ echo: ChannelEcho, hasBody: Bool) {
        block.add(":status", String(status))
        block.addUnindexed("apns-request-id", echo.requestIdentifier.span)
        if let identifier = echo.identifier { block.addUnindexed("apns-id", identifier.span) }
        if case .created(let channel) = self { block.addUnindexed("apns-channel-id", channel.description) }
        if hasBody { block.add("content-type", "application/json") }
    }

    private static func body(listing channels: [ChannelIdentity]) -> [UInt8] {
        var body = Array(#"{"channels":["#.utf8)
        body.reserveCapacity(body.count + channels.count * (ChannelIdentity.textByteCount + 3) + 2)
        for channel in channels {
            if channel != channels.first { body.append(UInt8(ascii: ",")) }
            body.append(UInt8(ascii: "\""))
            channel.write(to: &body)
            body.append(UInt8(ascii: "\""))
        }
        body += Array("]}".utf8)
        return body
    }
}
