import PostriderChannels
import PostriderCluster
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

/// Messages about requests that wait, of each kind.
enum HandoverSamples {
    private static let push = WaitingRequest(.push(Samples.notification(1)), Samples.replyAddress(1))
    private static let order: WaitingRequest = {
        let owner = ChannelOwner(topic: Samples.topic, environment: .development)
        var request = WaitingRequest(.order(.list, owner), Samples.replyAddress(2))
        request.waited = 1_000
        return request
    }()

    private static let web = WebSamples.requests.map { WaitingRequest(.web($0), Samples.replyAddress(3)) }

    static let messages: [HandoverMessage] =
        ([push, order] + web).flatMap { [.again($0), .returned($0)] } + [
            .recall([Partition(Partition.count - 1)], place: 1, ticket: 2),
            .recalled(place: 1, ticket: 2, shards: 3),
        ]
}
