import FoundationEssentials
import PostriderHTTP2
public import PostriderNotifications

/// What a provider may ask about the channels of an app ("Sending channel management requests to APNs").
public enum ChannelRequest: Sendable {
    /// Makes a channel with this storage policy.
    case create(ChannelStorage)
    /// Asks for the settings of a channel.
    case read(ChannelIdentity)
    /// Deletes a channel.
    case delete(ChannelIdentity)
    /// Asks for all channels of the app.
    case list
}

/// What a relay answered about channels.
public struct ChannelOutcome: Sendable, Equatable {
    /// 200, 201 or 204: it is done.
    public let status: Int
    /// Why not; nil where it is done.
    public let reason: String?
    /// The channel that was made.
    public let channel: ChannelIdentity?
    /// What a channel keeps.
    public let storage: ChannelStorage?
    /// All channels of the app.
    public let channels: [ChannelIdentity]?

    /// Whether it is done.
    public var isDone: Bool { (200...299).contains(status) }
}

extension ProviderClient {
    /// Asks for something about the channels of an app. `completion` is called once, on the loop, after this call has
    /// returned.
    /// - Throws: when the request cannot even begin; `completion` is not called then.
    public func ask(
        _ request: ChannelRequest, of topic: Topic,
        completion: @escaping (Result<ChannelOutcome, ClientError>) -> Void
    ) throws(ClientError) {
        let path = "/1/apps/\(topic.text)/"
        var (head, body): (HeaderBlock, [UInt8]) =
            switch request {
            case .create(let storage):
                (
                    makeHead("POST", path + "channels"),
                    Array(
                        #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#.utf8)
                )
            case .read: (makeHead("GET", path + "channels"), [])
            case .delete: (makeHead("DELETE", path + "channels"), [])
            case .list: (makeHead("GET", path + "all-channels"), [])
            }
        switch request {
        case .read(let channel), .delete(let channel): head.addUnindexed("apns-channel-id", "\(channel)")
        case .create, .list: break
        }
        try send(head, body) { result in completion(result.map(ChannelOutcome.init(response:))) }
    }
}

extension ChannelOutcome {
    private struct Body: Decodable {
        let reason: String?
        let storage: Int?
        let channels: [String]?

        enum CodingKeys: String, CodingKey {
            case reason, channels
            case storage = "message-storage-policy"
        }
    }

    /// Reads an answer. What is not as the contract says is left out.
    init(response: RequestClient.Response) {
        let body =
            response.body.isEmpty ? nil : try? JSONDecoder().decode(Body.self, from: Data(response.body))
        self.init(
            status: response.status, reason: body?.reason ?? response.grpcMessage,
            channel: response.head.text(of: "apns-channel-id").flatMap { ChannelIdentity($0) },
            storage: body?.storage.flatMap(ChannelStorage.init(rawValue:)),
            channels: body?.channels?.compactMap { ChannelIdentity($0) })
    }
}
