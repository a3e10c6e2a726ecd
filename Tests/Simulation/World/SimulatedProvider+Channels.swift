import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// A provider's requests about channels.
extension SimulatedProvider {
    /// Sends a request. Returns false if the connection accepts no more requests.
    func send(
        _ wish: ChannelWish, _ world: World, _ topic: String, _ storage: ChannelStorage = .nothing
    ) -> Bool {
        let channels = world.channels
        guard isOpen, !isHalfClosed else { return false }
        var (method, path, body) = ("POST", "/1/apps/\(topic)/channels", [UInt8]())
        var channel: ChannelIdentity?
        switch wish {
        case .create:
            body = Array(#"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#.utf8)
        case .delete(let index):
            method = "DELETE"
            channel = channels.all[index].identity
        case .broadcast(let number):
            path = "/4/broadcasts/apps/\(topic)"
            body = channels.broadcasts[number].payload
            channel = channels.all[channels.broadcasts[number].channel].identity
        }
        // Pseudo-header fields come first (RFC 9113 section 8.3).
        var head: HeaderBlock = [":scheme": "https", ":authority": "relay"]
        head.add(":method", method)
        head.add(":path", path)
        head.add("authorization", Self.authorization)
        if let channel { head.add("apns-channel-id", "\(channel)") }
        if case .broadcast(let number) = wish {
            let broadcast = channels.broadcasts[number]
            head.add("apns-request-id", "\(broadcast.identity)")
            head.add("apns-expiration", broadcast.expiresAt.map { "\($0.milliseconds / 1000)" } ?? "0")
            head.add("apns-priority", "10")
            head.add("apns-push-type", "liveactivity")
        }
        do throws(SessionError) {
            let stream = try endpoint.streams.request(head, body: body)
            wishes[stream] = wish
            return true
        } catch {
            return false
        }
    }

    /// Takes the head of an answer. Returns false if it is not about channels.
    func takeAnswer(_ stream: Int32, _ block: HeaderBlock) -> Bool {
        guard let wish = wishes[stream] else { return false }
        let status = block.text(of: ":status").flatMap { Int($0) } ?? 0
        let request = block.text(of: "apns-request-id")
        findings.expect(
            request.flatMap { NotificationIdentity($0) } != nil, .answers,
            "an answer about channels has no name")
        if case .broadcast(let number) = wish {
            let name = "\(NotificationIdentity(high: 0xB, low: UInt64(number)))"
            findings.expect(
                request == name && block.text(of: "apns-id") == name, .answers,
                "the answer to broadcast \(number) has not both of its names")
        }
        wishAnswers[stream] = (status, block.text(of: "apns-channel-id").flatMap { ChannelIdentity($0) })
        return true
    }

    /// Takes the end of an answer. Returns false if it is not about channels.
    func endAnswer(_ stream: Int32, _ world: World) -> Bool {
        guard let wish = wishes.removeValue(forKey: stream) else { return false }
        guard let answer = wishAnswers.removeValue(forKey: stream) else {
            findings.note(.answers, "stream \(stream) ended without an answer")
            return true
        }
        world.answered(wish, answer.status, answer.channel)
        return true
    }
}
