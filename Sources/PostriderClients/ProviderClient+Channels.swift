import FoundationEssentials
import PostriderHTTP2
public import PostriderNotifications

/// A request of a provider about the channels of an app (Apple, "Sending channel management requests to APNs").
public enum ChannelRequest: Sendable {
    /// Create a channel with this storage policy.
    case create(ChannelStorage)
    /// Get the settings of a channel.
    case read(ChannelIdentity)
    /// Delete a channel.
    case delete(ChannelIdentity)
    /// List all channels of the app.
    case list
}

/// The response to a channel request.
public struct ChannelOutcome: Sendable, Equatable {
    /// The HTTP status; 200, 201 and 204 mean success.
    public let status: Int
    /// The reason of a refusal; nil for success.
    public let reason: String?
    /// The channel that was created; nil for other requests.
    public let channel: ChannelIdentity?
    /// The storage policy of the channel; nil for other requests.
    public let storage: ChannelStorage?
    /// All channels of the app; nil for other requests.
    public let channels: [ChannelIdentity]?

    /// Whether the request succeeded.
    public var isDone: Bool { (200...299).contains(status) }
}

extension ProviderClient {
    /// Sends a channel request. `completion` is called once, on the loop, after this call has returned.
    /// - Throws: if the request cannot be started; `completion` is not called then.
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

    /// Reads a response. Values that do not follow the contract are left out.
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
