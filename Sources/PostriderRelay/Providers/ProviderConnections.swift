import PostriderCallbacks
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// The providers' side of one shard: its connections, and what they share.
final class ProviderConnections {
    let context: ShardContext
    /// The devices of this shard: pushes to them need no message.
    let home: DeviceHome
    let sessions: ProviderSessions
    /// How closely the relay follows Apple.
    private(set) var compatibility: APNsCompatibility
    /// Whether header blocks of requests are decoded by our code or by nghttp2.
    private(set) var requestHeaders: ProtocolCode.RequestHeaders
    /// How long a connection may stay without a request.
    private(set) var idleMilliseconds: Int
    /// Captures requests and applies rules to pushes; nil on a relay in production.
    let bench: TestBench?
    /// The callbacks that the operator allows; nil if they are off.
    let callbacks: CallbackConfiguration?
    /// The keys that may look up devices.
    private(set) var lookups: LookupPermissions
    let tokens = ProviderTokens()
    let topics = TopicCache()
    /// Reused for each answer.
    var reply = HeaderBlock()
    private var keyWarnings = ProviderKeyWarnings()
    private var requestPool: [PushRequest] = []

    init(_ context: ShardContext, _ settings: ShardSettings, _ home: DeviceHome, _ sessions: ProviderSessions)
    {
        self.context = context
        self.home = home
        self.sessions = sessions
        compatibility = settings.compatibility
        requestHeaders = settings.protocolCode.requestHeaders
        idleMilliseconds = settings.providerIdleMilliseconds
        bench = settings.bench
        callbacks = settings.callbacks
        lookups = settings.lookups
    }

    /// Applies the settings of a reload: compatibility, idle time and the keys for lookups to all connections, the rest
    /// to new ones.
    func apply(_ settings: ShardSettings) {
        compatibility = settings.compatibility
        requestHeaders = settings.protocolCode.requestHeaders
        idleMilliseconds = settings.providerIdleMilliseconds
        lookups = settings.lookups
        for session in sessions.all { session.settingsChanged() }
    }

    var count: Int { sessions.count }
    var isEmpty: Bool { count == 0 }

    /// A request to be filled; a used one if there is one.
    func takeRequest() -> PushRequest { requestPool.popLast() ?? PushRequest() }

    /// Takes back the request of an answered push. As many are kept as one connection can have open.
    func recycle(_ request: PushRequest) {
        if requestPool.count < Int(Limits.providerStreams) { requestPool.append(request) }
    }

    /// Warns of keys that end soon.
    func warnOfKeys() { keyWarnings.look(at: context.policy.endingKeys, now: context.now, context.log) }

    /// Answers open requests and accepts no more.
    func drain() {
        for session in sessions.all { session.drain() }
    }

    /// Cuts the connections that have not ended within the time of the drain.
    func abort() {
        for session in sessions.all { session.endpoint.wire?.abort(.localClose) }
    }

    /// Writes the answer to a push: a 200 is HEADERS with END_STREAM and nothing else, an error is HEADERS and exactly
    /// one DATA frame with END_STREAM.
    ///
    /// - Parameter isFirst: whether the connection has not answered a push before.
    func send(
        _ verdict: PushResult, to request: PushRequest, on stream: Int32, of endpoint: HTTP2Handler,
        isFirst: Bool
    ) {
        reply.removeAll()
        switch verdict {
        case .accepted where request.uniqueIdentity == nil:
            request.withEcho { endpoint.streams.respondOK(stream, "apns-id", $0) }
        case .accepted:
            reply.add(":status", "200")
            request.addEcho(to: &reply, isFirst: isFirst)
            if let unique = request.uniqueIdentity {
                let letters = unique.letters(letterA: UInt8(ascii: "a"))
                reply.addUnindexed("apns-unique-id", letters.span)
            }
            endpoint.streams.respond(stream, reply)
        case .rejected(let rejection, let since):
            reply.add(":status", String(rejection.status))
            reply.add("content-type", "application/json")
            request.retryAfterSeconds.map { reply.add("retry-after", String($0)) }
            request.addEcho(to: &reply, isFirst: isFirst)
            let body = rejection.body(
                since: since, usesLiveSpellings: compatibility.usesLiveSpellings)
            endpoint.streams.respond(stream, reply, body: request.isHead ? nil : body)
        }
    }
}
