import PostriderCourier
import PostriderDeviceQueue
import PostriderNotifications
import PostriderWeb
import RelayFixtures

@testable import PostriderRelay

/// Messages of Web Push, for the same devices as pushes, and receipts.
extension NodesWorld {
    /// The topic of the subscriptions, one of each device.
    static let webTopic: Topic = {
        guard let topic = Topic(RegisterWebPush.topicPrefix + "1") else { preconditionFailure("a topic") }
        return topic
    }()

    private static let number = RegistrationNumber(UInt32(NodesWorldChannels.topics.count + 2))

    /// The identity under which the world counts a message: the relay gives each attempt one of its own. The payload of
    /// a push is no number.
    static func identity(ofWebPush payload: [UInt8]) -> NotificationIdentity? {
        UInt64(String(decoding: payload, as: UTF8.self)).map { NotificationIdentity(high: 1, low: $0) }
    }

    /// Sends a new message to a device, through any node.
    func send(to device: Int, at node: FixtureNode?) {
        let kind = draw(0...9)
        let seconds = kind == 0 ? 0 : kind == 1 ? draw(1...5) : 600
        pushes.append(
            NodesWorldPush(
                number: Int32(pushes.count + 1), device: device, collapse: kind == 2 ? "a" : nil,
                expiration: seconds == 0
                    ? .nowOrNever : .at(Samples.now.advanced(byMilliseconds: Int64(seconds) * 1_000)),
                isKept: seconds == 600, isWeb: true, wantsReceipt: draw(0...1) == 0, postedAt: step))
        post(pushes.count - 1, at: node)
    }

    /// Makes one attempt to send a message.
    func send(_ push: NodesWorldPush, as attempt: Int32, over node: FixtureNode, at shard: Int) {
        var seconds: Int64 = 0
        if case .at(let end) = push.expiration {
            seconds = (end.milliseconds - Samples.now.milliseconds) / 1_000
        }
        var fields = ["ttl": "\(seconds)", "topic": push.collapse ?? ""].filter { !$0.value.isEmpty }
        if push.wantsReceipt {
            fields["prefer"] = "respond-async"
            // Some senders want the subscription of an earlier message, which may be in another partition.
            let earlier = pushes.compactMap(\.promise).last?.receipts
            if let earlier, draw(0...1) == 0 {
                fields["link"] = "<\(earlier)>; rel=\"urn:ietf:params:push:receipt\""
            }
        }
        let endpoint = node.shards[shard].web.routes.endpoint(
            of: devices[push.device].identity, Self.number)
        node.request("POST", endpoint, fields, "\(push.number)", as: attempt, at: shard)
    }

    /// A message is accepted.
    func notePromise(to index: Int, as attempt: Int32, of node: FixtureNode) {
        guard pushes[index].wantsReceipt else { return }
        guard let message = node.sender.field("location", of: attempt),
            let link = node.sender.field("link", of: attempt)
        else {
            // The receipt could not be stored, and the sender was told so.
            return
        }
        pushes[index].promise = (message, String(link.dropFirst().prefix { $0 != ">" }))
    }

    /// Reads and removes all receipts, at any node.
    func checkReceipts() {
        // Every ten seconds a home tries again to store what its disk has refused.
        for _ in 0..<110 { pass(100) { $0 } }
        let promised = pushes.filter { $0.promise != nil }
        var told: [String: Int] = [:]
        for receipts in Set(promised.compactMap(\.promise?.receipts)).sorted() where finding == nil {
            for receipt in read(receipts) ?? [] {
                if told.updateValue(receipt.status, forKey: receipt.message) != nil {
                    report(.receipts, "a message has two receipts")
                }
                if ask("DELETE", receipt.receipt, [:])?.status != 204 {
                    report(.receipts, "a receipt is not removed")
                }
            }
        }
        for push in promised where finding == nil {
            let device = devices[push.device]
            switch told[push.promise?.message ?? ""] {
            case nil: report(.receipts, "message \(push.number) has no receipt")
            case 204:
                if !device.has(push.identity) { report(.receipts, "message \(push.number) has not arrived") }
            case let status:
                guard push.isKept, push.collapse == nil else { continue }
                report(.receipts, "message \(push.number) has arrived, and its receipt says \(status ?? 0)")
            }
        }
    }

    /// The receipts of a subscription; nil if they are not told.
    private func read(_ receipts: String) -> [ToldReceipt]? {
        guard let response = ask("GET", receipts, ["prefer": "wait=0"]) else { return nil }
        return response.status == 204 ? [] : ToldReceipt.all(in: response.body)
    }

    private func ask(
        _ method: String, _ url: String, _ fields: [String: String]
    ) -> (status: Int, body: [UInt8])? {
        guard let node = one(of: nodes) else { return nil }
        attempts += 1
        node.request(method, url, fields, as: attempts, at: draw(0...node.shards.count - 1))
        for _ in 0..<20 where node.sender.answers[attempts] == nil { pass(30) { $0 } }
        guard let answer = node.sender.answers[attempts], answer.status < 300 else {
            report(
                .receipts, "\(method) of receipts is answered \(node.sender.answers[attempts]?.status ?? 0)")
            return nil
        }
        return (answer.status, answer.body)
    }
}
