import PostriderDeviceQueue
import PostriderNotifications
import PostriderWeb
import RelayFixtures

@testable import PostriderRelay

/// A sender of Web Push with a connection to each shard of a node.
final class FixtureSender: WebSender {
    let number: UInt64 = 97
    /// The answers by the numbers of their requests.
    private(set) var answers: [Int32: WebResponse] = [:]
    /// Hears how each request is answered, like a push.
    var onAnswer: (Int32, PushResult) -> Void = { _, _ in }

    func answer(_ stream: Int32, _ response: WebResponse) {
        answers[stream] = response
        switch response.status {
        case 200..<300: onAnswer(stream, .accepted)
        case 429: onAnswer(stream, .rejected(.tooManyRequests))
        case 503: onAnswer(stream, .rejected(.serviceUnavailable))
        default: onAnswer(stream, .rejected(.internalServerError))
        }
    }

    /// The value of a field of an answer.
    func field(_ name: String, of number: Int32) -> String? {
        answers[number]?.fields.first { $0.name == name }?.value
    }

    func drain() {}
    func abort() {}
}

extension FixtureNode {
    /// Makes a request of a sender at a shard of this node. The number is that of the answer.
    func request(
        _ method: String, _ url: String, _ fields: [String: String] = [:], _ body: String = "",
        as number: Int32, at shard: Int
    ) {
        let head = RequestHead(
            method: method, target: String(url.dropFirst(WebFixture.origin.count)),
            fields: fields.sorted { $0.key < $1.key }.map { RequestHead.Field($0.key, $0.value) })
        shards[shard].web.routes.take(
            WebRequest(head: head, body: Array(body.utf8)), from: sender, on: number)
    }
}
