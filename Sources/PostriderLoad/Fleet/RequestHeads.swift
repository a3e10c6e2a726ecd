import PostriderClients
import PostriderHTTP2
import PostriderNotifications

/// The header blocks of requests, made once for each topic; each request overwrites its own path and `apns-id` in them.
struct RequestHeads {
    private static let pathField = 3
    private static let identityField = 4
    private static let pathPrefix = "/3/device/"

    private let scheme: StaticString = "https"
    private let authority: String
    private let topics: [Topic]
    private let tokenDigits: Int
    private var signer: ProviderTokenMaker?
    private var authorization: String?
    /// For each topic two blocks: for a push that is stored, and for one that is not.
    private var pushes: [HeaderBlock] = []
    private var identity = [UInt8](repeating: 0, count: NotificationIdentity.textByteCount)

    /// - Parameters:
    ///   - target: its provider name, topics and signer; without a signer, requests carry no provider token.
    ///   - tokenDigits: hexadecimal digits of every device token.
    ///   - now: when the first provider token is signed.
    init(_ target: LoadTarget, tokenDigits: Int, at now: Moment) {
        authority = target.providerName
        topics = target.topics
        signer = target.signer
        self.tokenDigits = tokenDigits
        authorize(at: now)
    }

    /// Gives requests a new provider token if theirs is too old.
    mutating func authorize(at now: Moment) {
        let signed = (signer?.token(at: now)).map { "bearer \($0)" }
        guard pushes.isEmpty || signed != authorization else { return }
        authorization = signed
        let blank = String(repeating: "0", count: tokenDigits)
        pushes = topics.flatMap { topic in
            var head = makeHead(Self.pathPrefix + blank)
            head.add("apns-topic", topic.text)
            head.add("apns-push-type", "alert")
            head.add("apns-priority", "10")
            var fleeting = head
            fleeting.add("apns-expiration", "0")
            // The end of 2999: the server stores it for as long as it stores anything.
            head.add("apns-expiration", "32503679999")
            return [head, fleeting]
        }
    }

    /// The header block of a push. `token`: the range of its digits in `tokens`.
    mutating func push(
        _ mark: PushMark, app: Int, isStored: Bool, token: Span<UInt8>
    ) -> HeaderBlock {
        mark.write(into: &identity)
        let text = identity
        let place = app * 2 + (isStored ? 0 : 1)
        pushes[place].overwrite(Self.pathField, at: Self.pathPrefix.utf8.count, with: token)
        pushes[place].overwrite(Self.identityField, at: 0, with: text.span)
        return pushes[place]
    }

    /// The header block of a broadcast to a channel of the first app.
    func broadcast(_ mark: PushMark, channel: ChannelIdentity) -> HeaderBlock {
        var head = makeHead("/4/broadcasts/apps/\(topics[0].text)", mark)
        head.add("apns-channel-id", "\(channel)")
        head.add("apns-push-type", "liveactivity")
        head.add("apns-priority", "10")
        head.add("apns-expiration", "0")
        return head
    }

    private func makeHead(_ path: String, _ mark: PushMark? = nil) -> HeaderBlock {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", scheme)
        head.add(":authority", authority)
        head.addUnindexed(":path", path)
        let identity = (mark ?? PushMark(moment: 0, run: 0, device: 0, number: 0)).identity
        head.addUnindexed("apns-id", String(decoding: identity.lowerCaseText, as: UTF8.self))
        if let authorization { head.add("authorization", authorization) }
        return head
    }
}
