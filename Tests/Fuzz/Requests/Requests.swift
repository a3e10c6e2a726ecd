import PostriderHTTP2
import PostriderJSON
import PostriderNotifications

@testable import PostriderChannels
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// Complete requests of a provider, about devices and about channels: header fields and body, up to the result of the
/// admission. The path chooses the admission.
///
/// An input is text: a line `name: value` for each field, an empty line, the body. If a value ends with `@`, a valid
/// value replaces that: the provider token in `authorization`, the device token in `:path`.
enum Requests {
    /// The names of fields with a meaning; every other one is unknown.
    private static let names: [(text: [UInt8], name: StaticString)] = [
        (Array(":method".utf8), ":method"), (Array(":path".utf8), ":path"),
        (Array("authorization".utf8), "authorization"), (Array("apns-id".utf8), "apns-id"),
        (Array("apns-topic".utf8), "apns-topic"), (Array("apns-push-type".utf8), "apns-push-type"),
        (Array("apns-priority".utf8), "apns-priority"), (Array("apns-expiration".utf8), "apns-expiration"),
        (Array("apns-collapse-id".utf8), "apns-collapse-id"), (Array("host".utf8), "host"),
        (Array("apns-channel-id".utf8), "apns-channel-id"),
        (Array("apns-request-id".utf8), "apns-request-id"),
    ]

    /// The result of a request.
    private enum Outcome: Equatable {
        case admitted([String], payload: [UInt8])
        case ordered([String], payload: [UInt8])
        case rejected(Rejection)
    }

    /// The place where all requests of one input arrive.
    private struct Door {
        let tokens = ProviderTokens()
        let seal = FuzzedProvider.makeSeal()
        let topics = TopicCache()
    }

    static func run(_ input: [UInt8]) throws(Contradiction) {
        let (block, body) = parse(input)
        let request = PushRequest()
        let door = Door()
        let outcome = try admit(block, body, step: max(body.count, 1), request, door)
        // The pooled request was used for another push before, and gets the body in pieces.
        let pooled = PushRequest()
        _ = try admit(block, Array("{\"a\":".utf8), step: 2, pooled, door)
        let again = try admit(block, body, step: 7, pooled, door)
        try hold(outcome == again, "a used request gets \(again), a new one \(outcome)")
        if let identity = block.value(of: "apns-id"), !request.hasDuplicates {
            try hold(request.echo == identity, "the apns-id comes back otherwise")
        }
    }

    private static func admit(
        _ block: HeaderBlock, _ body: [UInt8], step: Int, _ request: PushRequest, _ door: Door
    ) throws(Contradiction) -> Outcome {
        var received = block
        request.begin(&received) { NotificationIdentity(high: 3, low: 4) }
        for start in stride(from: 0, to: body.count, by: step) {
            request.append(body.span.extracting(start..<min(start + step, body.count)))
        }
        try hold(request.bodyByteCount == body.count, "bytes of the body are not counted")
        try hold(request.body.count <= Limits.voipPayloadBytes, "more of the body is kept than is ever used")
        return try isAboutChannels(request)
            ? order(block, body, request, door) : push(block, body, request, door)
    }

    private static func isAboutChannels(_ request: PushRequest) -> Bool {
        guard let path = request.range(.path) else { return false }
        let values = request.values
        return ChannelPath.isOne(values.span.extracting(path))
    }

    // MARK: Pushes

    private static func push(
        _ block: HeaderBlock, _ body: [UInt8], _ request: PushRequest, _ door: Door
    ) throws(Contradiction) -> Outcome {
        let admission = PushValidator(
            tokens: door.tokens, seal: door.seal, topics: door.topics, environment: .production)
        var credentials = ProviderCredentials()
        let notification: Notification
        do throws(Rejection) {
            notification = try admission.admit(
                request, &credentials, by: FuzzedProvider.authority,
                isStrict: APNsCompatibility().isStrict, now: FuzzedProvider.now)
        } catch {
            return .rejected(error)
        }
        try check(notification, block, body)
        return .admitted(
            [
                "\(notification.identity)", "\(notification.topic)", "\(notification.pushType, default: "-")",
                "\(notification.priority)", "\(notification.expiration)",
                notification.collapseIdentifier ?? "",
            ], payload: notification.payload)
    }

    /// Checks every accepted push.
    private static func check(
        _ notification: Notification, _ block: HeaderBlock, _ body: [UInt8]
    ) throws(Contradiction) {
        try hold(notification.payload == body, "the payload is not the body")
        try hold(JSONSyntax.isObject(body.span), "the payload is no JSON object")
        try hold(notification.device == FuzzedProvider.device, "the device is another one")
        try hold(notification.registration == FuzzedProvider.registration, "the registration is another one")
        let app = FuzzedProvider.topics[0].text
        let isOurs = notification.topic.text == app || notification.topic.text.hasPrefix(app + ".")
        try hold(isOurs, "the topic is another team's")
        try hold(block.text(of: ":method") == "POST", "the method is another one")
        try hold((notification.collapseIdentifier ?? "").utf8.count <= 64, "the collapse identifier is long")
        if let text = block.text(of: "apns-id") {
            try hold("\(notification.identity)" == text.uppercased(), "the identity is another one")
        }
        if case .at(let moment) = notification.expiration {
            let latest = FuzzedProvider.now.advanced(byMilliseconds: Limits.storedDays * 86_400_000)
            try hold(FuzzedProvider.now < moment && moment <= latest, "it is kept until \(moment)")
        }
    }

    // MARK: Channels and broadcasts

    private static func order(
        _ block: HeaderBlock, _ body: [UInt8], _ request: PushRequest, _ door: Door
    ) throws(Contradiction) -> Outcome {
        let echo = ChannelEcho(request)
        let isBroadcast = block.text(of: ":path")?.hasPrefix("/4/") ?? false
        // If a path comes twice, which HTTP/2 does not permit, the last one counts.
        let isOne = request.hasDuplicates || (echo.identifier != nil) == isBroadcast
        try hold(isOne, "an answer has other names than its family")
        let admission = ChannelRequestValidator(
            authority: FuzzedProvider.authority, tokens: door.tokens, environment: .production,
            isStrict: false, now: FuzzedProvider.now)
        var credentials = ProviderCredentials()
        let (order, owner): (ChannelCommand, ChannelOwner)
        do throws(Rejection) {
            (order, owner) = try admission.admit(request, &credentials)
        } catch {
            return .rejected(error)
        }
        let app = FuzzedProvider.topics[0]
        try hold(owner == ChannelOwner(topic: app, environment: .production), "the app is another one")
        if let name = block.value(of: "apns-request-id") {
            try hold(echo.requestIdentifier == name, "the apns-request-id comes back otherwise")
        }
        let method = block.text(of: ":method") ?? ""
        switch order {
        case .list:
            try hold(method == "GET", "a list is made of \(method)")
            return .ordered(["list"], payload: [])
        case .create(let storage):
            try hold(method == "POST", "a channel is made by \(method)")
            try hold(JSONSyntax.isObject(body.span), "a channel is made of what is no JSON object")
            return .ordered(["create", "\(storage)"], payload: [])
        case .read(let channel), .remove(let channel):
            try check(channel, block)
            let isRead = if case .read = order { true } else { false }
            try hold(method == (isRead ? "GET" : "DELETE"), "\(method) is taken for another method")
            return .ordered([method, "\(channel)"], payload: [])
        case .broadcast(let broadcast, let isNowOrNever, _):
            try check(broadcast.channel, block)
            try check(broadcast, block, body)
            let isZero = Int64(block.text(of: "apns-expiration") ?? "") == 0
            try hold(isNowOrNever == isZero, "0 is not taken for 0")
            return .ordered(
                [
                    "\(broadcast.identity)", "\(broadcast.channel)", "\(broadcast.topic)",
                    "\(broadcast.priority)", "\(broadcast.expiration)",
                ], payload: broadcast.payload)
        }
    }

    /// Checks that a channel's identity comes back unchanged, but for the padding.
    private static func check(_ channel: ChannelIdentity, _ block: HeaderBlock) throws(Contradiction) {
        let text = block.text(of: "apns-channel-id") ?? ""
        let padded = text.hasSuffix("==") ? text : text + "=="
        try hold("\(channel)" == padded, "\(text) is taken for \(channel)")
    }

    /// Checks every accepted broadcast.
    private static func check(
        _ broadcast: Broadcast, _ block: HeaderBlock, _ body: [UInt8]
    ) throws(Contradiction) {
        try hold(broadcast.payload == body, "the payload is not the body")
        try hold(body.count <= Limits.broadcastPayloadBytes, "the payload is too large")
        try hold(JSONSyntax.isObject(body.span), "the payload is no JSON object")
        try hold(broadcast.topic == FuzzedProvider.topics[0], "the app is another one")
        try hold(broadcast.priority >= .considerate, "the priority is \(broadcast.priority)")
        if let text = block.text(of: "apns-request-id") ?? block.text(of: "apns-id") {
            try hold("\(broadcast.identity)" == text.uppercased(), "the identity is another one")
        }
        if case .at(let moment) = broadcast.expiration {
            let latest = FuzzedProvider.now.advanced(
                byMilliseconds: Limits.broadcastStoredHours * 3_600_000)
            try hold(FuzzedProvider.now < moment && moment <= latest, "it is kept until \(moment)")
        }
    }

    // MARK: Reading an input

    private static func parse(_ input: [UInt8]) -> (HeaderBlock, body: [UInt8]) {
        var block = HeaderBlock()
        var rest = input[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")), end > rest.startIndex {
            add(rest[..<end], to: &block)
            rest = rest[(end + 1)...]
        }
        return (block, Array(rest.dropFirst()))
    }

    private static func add(_ line: ArraySlice<UInt8>, to block: inout HeaderBlock) {
        // A pseudo-header field begins with a colon.
        guard let colon = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) else { return }
        let (text, rest) = (line[..<colon], line[(colon + 1)...])
        var value = Array(rest.first == UInt8(ascii: " ") ? rest.dropFirst() : rest)
        let name = names.first { $0.text.elementsEqual(text) }?.name ?? "x-stranger"
        if value.last == UInt8(ascii: "@") {
            value.removeLast()
            value +=
                text.first == UInt8(ascii: ":")
                ? Array(FuzzedProvider.deviceToken.utf8) : FuzzedProvider.token
        }
        block.add(name, value.span)
    }
}
