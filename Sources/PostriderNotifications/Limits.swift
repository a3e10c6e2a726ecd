/// All limits of the relay, the agent and their libraries, each with its cost when it is reached.
public enum Limits {
    // What a provider may send ("Sending notification requests to APNs", "Generating a remote notification").

    /// Bytes of a payload.
    public static let payloadBytes = 4096
    /// Bytes of a payload for Voice over IP.
    public static let voipPayloadBytes = 5120
    /// Bytes of `apns-collapse-id`.
    public static let collapseIdentifierBytes = 64
    /// Bytes of `apns-topic`. Apple publishes none; a bundle identifier ends at 155 characters, suffixes add
    /// 25.
    public static let topicBytes = 255
    /// Hexadecimal digits of a device token: the most that Apple announced. Ours have 64; others are unknown to the
    /// relay.
    public static let deviceTokenDigits = 200
    /// Bytes of a request body that are read before the stream is reset, so that one that is too large still gets its
    /// 413. Bytes above the payload limit are not stored.
    public static let drainedBodyBytes = 65_536
    /// Depth of arrays and objects in a payload.
    public static let jsonDepth = 64
    /// Days for which a notification is stored if it has no expiration, or a later one.
    public static let storedDays: Int64 = 30

    // Connections.

    /// Connections that one source, an IPv4 address or an IPv6 /64, may begin per second on average; a setting. A TLS
    /// handshake takes about a millisecond of processor time.
    public static let sourceRate = 1000
    /// Seconds of that rate that a source may use at once, because devices behind one address reconnect together.
    public static let sourceBurstSeconds = 5
    /// TLS handshakes of one source that may be under way. At about 60 KiB each: 120 MiB.
    public static let handshakesPerSource = 2048
    /// TLS handshakes that may be under way. At about 60 KiB each: 240 MiB.
    public static let handshakes = 4096
    /// Sources that are counted separately. At about 100 bytes each: 6 MiB.
    public static let sources = 65_536

    /// Enrolments with a wrong key that one source may try in a minute before refusals are delayed. A source is
    /// remembered for at most a minute. At about 40 bytes each: with ``sources`` 3 MiB.
    public static let enrolmentRefusalsPerMinute = 10
    /// Milliseconds by which such a refusal is delayed. This is shorter than an agent waits for its answer.
    public static let refusalMilliseconds = 5_000
    /// Refusals that one shard delays at once; further ones are sent at once. At about 100 bytes each: 400 KiB.
    public static let waitingRefusals = 4096

    // File descriptors of a process, besides connections and the 64 that listeners leave to other uses.

    /// File descriptors of a relay with its ledger, its trace and its log.
    public static let relayFiles = 32
    /// File descriptors of the metrics server, besides its connections.
    public static let metricsFiles = 5
    /// File descriptors of one shard, without its listeners.
    public static let shardFiles = 5
    /// File descriptors of an agent with its buses.
    public static let agentFiles = 48
    /// Connections for which a relay must have room to start.
    public static let leastConnections = 64
    /// Connections of apps for which an agent must have room to start.
    public static let leastAppConnections = 16

    // Many devices that reconnect at once.

    /// Milliseconds within which a device's TLS handshake should end. Devices for which that is impossible are closed
    /// before it, which costs them a back-off and the relay next to nothing.
    public static let handshakeMilliseconds = 2_000
    /// Handshakes of devices that one shard may always have under way. At about 60 KiB each: 4 MiB a shard.
    public static let handshakesLeast = 64
    /// Devices for which a shard reads stored notifications at once: the least, the default and the most. At a window
    /// of 5 KiB each: 10 MiB a shard.
    public static let fetches = (least: 1, usual: 32, most: 4096)
    /// Milliseconds after which a device that exceeds this number may reconnect: the least and the most.
    public static let slotMilliseconds = (least: 500, most: 60_000)

    // Connections of providers.

    /// Streams that a provider may have open at once on one connection. At 5 KiB of body each: 5 MiB.
    public static let providerStreams: UInt32 = 1000
    /// Decoded bytes of one header list, as Apple advertises. A provider's connection has a buffer for one list, and
    /// 10 KiB for the dynamic table.
    public static let headerListBytes = 8000
    /// Fields in one header list.
    public static let headerFields = 100
    /// Verified provider tokens that one shard caches. At about 150 bytes each: 600 KiB a shard.
    public static let cachedProviderTokens = 4096
    /// Bytes of a provider token; Apple's have about 230.
    public static let providerTokenBytes = 4096
    /// Bytes of the identifier of a key or a team; Apple's have 10.
    public static let keyIdentifierBytes = 64
    /// Minutes for which a connection must use a provider token before it may change to another.
    public static let providerTokenMinutes: Int64 = 20
    /// Seconds by which a provider token may change early: dotAPNS changes after exactly 20 minutes of its own clock.
    public static let providerTokenSlackSeconds: Int64 = 60
    /// Topics in a provider's certificate; Apple's have fewer than 20. At about 60 bytes each: 18 KiB a connection.
    public static let certificateTopics = 300
    /// Seconds for which a provider's connection may have no request: the least, the default and the most. Apple
    /// publishes no number, and advises a PING once an hour.
    public static let providerIdleSeconds = (least: 1, usual: 60 * 60, most: 7 * 24 * 60 * 60)

    // Provider keys ("Establishing a token-based connection to APNs").

    /// Valid team-scoped keys of one team for one environment. Legacy keys, which are valid in both, do not count.
    public static let teamKeysPerEnvironment = 2
    /// Valid topic-specific keys of one team for one environment.
    public static let topicKeysPerEnvironment = 200
    /// Topics of one topic-specific key. At about 60 bytes each: 24 KiB a key.
    public static let topicsPerKey = 400

    // Connections of devices.

    /// Bytes of one message from a device; the largest, an acknowledgement of a whole window, is below 1 KiB.
    public static let deviceMessageBytes = 16_384
    /// Bytes of one message from a relay. The largest, a welcome that lists ``registrationsPerDevice`` registrations
    /// with the longest topics, is below 80 KiB; a device holds at most one.
    public static let relayMessageBytes = 131_072
    /// Bytes of an enrolment key, of a device's name and of an agent's name and version.
    public static let courierTextBytes = 255
    /// Bytes of a device secret.
    public static let deviceSecretBytes = 32
    /// The longest `retry_after_milliseconds` that a device obeys: one hour.
    public static let retryAfterMilliseconds = 60 * 60 * 1000
    /// Deliveries that may wait for a device's acknowledgement at once. At 5 KiB of payload each: 320 KiB a device.
    public static let deliveryWindow = 64
    /// Events in one report of a device. At about 200 bytes each: 13 KiB.
    public static let reportEvents = 64
    /// Events that a device may report of one notification. In the trace each takes 64 bytes and its text.
    public static let reportsPerNotification = 8
    /// Bytes of the text in a report, such as the end of a handler's output.
    public static let reportTextBytes = 160
    /// Notifications of which a device may still report, also those that it got before the relay was started. A
    /// device adds at most ``reportsPerNotification`` records to the trace for each push to it.
    public static let unreported = 1000
    /// Milliseconds for which notifications of priority 5 are held back to be grouped if the device saves power: five
    /// minutes. The relay checks every ten seconds.
    public static let groupMilliseconds: Int64 = 5 * 60 * 1000
    /// Topics that one device may register.
    public static let registrationsPerDevice = 256
    /// Seconds between a device's keepalive PINGs: the least, the default and the most. The default is below the 50
    /// seconds after which proxies commonly close a silent connection (HAProxy's `timeout client 50s`).
    public static let keepaliveSeconds = (least: 5, usual: 45, most: 1800)
    /// Seconds between PINGs to which a device goes down by itself if a path cuts silent connections. Each PING wakes
    /// the radio, so a device with a battery cannot use a path that needs a shorter interval.
    public static let shortenedKeepaliveSeconds = 10
    /// Seconds for which a shortened interval must hold before a longer one is tried: at first, and at most.
    public static let keepaliveTrialSeconds = (least: 60 * 60, most: 24 * 60 * 60)
    /// Network paths of which a device remembers the interval. At about 100 bytes each: 2 KiB.
    public static let keepalivePaths = 16

    // Two machines with one device identity.

    /// Milliseconds for which a relay remembers a replaced process: if it returns within them, the device has a
    /// clone.
    public static let replacedMilliseconds: Int64 = 60 * 60 * 1000
    /// Replaced connections of a device that a relay remembers. At about 80 bytes each: 640 bytes for a device that
    /// was replaced.
    public static let replacedConnections = 8
    /// How many connections that are known only by their address must return within ten minutes until a relay
    /// concludes that there are two machines.
    public static let returnsByAddress = (count: 3, milliseconds: Int64(10 * 60 * 1000))
    /// Milliseconds after which the machine that was refused may ask again: one minute.
    public static let duplicateRetryMilliseconds: UInt32 = 60 * 1000
    /// Milliseconds between two log lines about one device: one hour.
    public static let duplicateLineMilliseconds: Int64 = 60 * 60 * 1000
    /// Milliseconds until a device that was replaced reconnects, doubled each time: the least and the most.
    public static let replacedPauseMilliseconds = (least: 10_000, most: 60 * 60 * 1000)
    /// Milliseconds from a device connection's first byte to its hello.
    public static let helloMilliseconds = 10_000

    /// Milliseconds that open pushes and devices have to finish when the relay is stopped.
    public static let drainMilliseconds = 10_000

    // Channels ("Sending channel management requests to APNs", "Sending broadcast push notification requests").

    /// Channels that an app may have in one environment.
    public static let channelsPerApp = 10_000
    /// Lists of all channels that a provider's connection may have requested and not read. At 264 KiB each: 4 MiB a
    /// connection.
    public static let listings = 16
    /// Bytes of a broadcast's payload. If all channels of an app store one: 50 MiB in memory and on the disk.
    public static let broadcastPayloadBytes = 5120
    /// Hours for which a channel stores its most recent broadcast.
    public static let broadcastStoredHours: Int64 = 8
    /// Channels to which one device may be subscribed. At about 150 bytes each: 38 KiB a device. The agent
    /// distributes them among its apps.
    public static let subscriptionsPerDevice = 256
    /// Bytes that may be queued in a device's stream when a broadcast is sent to it; above that it is skipped. The
    /// bytes of a broadcast itself are shared among all devices of a shard.
    public static let broadcastBacklogBytes = 65_536

    // Messages of an app to its agent.

    /// Bytes of one message from an app.
    public static let appMessageBytes = 16_384
    /// Bytes that are kept of a failure's reason.
    public static let reasonBytes = 512

    // Queues.

    /// Pending notifications of one app on one device. The oldest of lowest priority is dropped and counted.
    public static let pendingPerRegistration = 1000
    /// Pushes per second that one device token accepts on average by default. Further ones get 429 `TooManyRequests`,
    /// so that a provider out of control cannot overload a device.
    public static let pushesPerSecond = 1000
    /// Seconds of that rate that an idle token accepts at once: ten thousand pushes.
    public static let pushBurstSeconds = 10
    /// Milliseconds after which the registry records again that a device was seen: one day.
    public static let sightingMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// Such records in one transaction, and in one round of the search for those that are due.
    public static let sightingsAtOnce = 1024
    /// Milliseconds for which irreversible changes by the clock are delayed after the clock was set forward by as
    /// much; and after a start, until the tokens of devices that have not returned are expired: one hour.
    public static let clockMilliseconds: Int64 = 60 * 60 * 1000
    /// Milliseconds for which a notification that was sent to a device waits for its acknowledgement before it is
    /// stored. If the device is slower than usual, its 200 is later by this time.
    public static let acknowledgementMilliseconds = 10
    /// Messages in the mailbox of one shard or of the ledger. At about 100 bytes each: 6 MiB. If it is full, the
    /// answer is 429.
    public static let mailboxMessages = 65_536
    /// The longest setting for busy polling, in microseconds. Nothing that the relay waits for takes longer.
    public static let busyPollingMicroseconds = 10_000
    /// Operations in one ledger transaction.
    public static let ledgerBatch = 1024
    /// A write-ahead log reserves at most one part in this many of the free space.
    public static let logReserveShare = 8
    /// Free bytes below which nothing is reserved: 16 MiB.
    public static let logReserveLeastFree = 16 * 1024 * 1024

    // The trace (docs/operate/trace.md).

    /// Bytes of one segment of the trace. All segments take 256 MiB of disk space; a push takes about 230 bytes.
    public static let traceSegmentBytes = 16 * 1024 * 1024
    /// Segments of the trace; beyond that the oldest is removed.
    public static let traceSegments = 16
    /// Free bytes that the disk must have for the trace to grow: 8 MiB. They are left to notifications.
    public static let traceLeastFree = 8 * 1024 * 1024
    /// Messages on their way to the trace, each with up to ``traceHandover`` records. At about 190 bytes a record: 50
    /// MiB. Further ones are lost, and counted.
    public static let traceMessages = 256
    /// Records that a shard collects before it sends them to the trace's thread.
    public static let traceHandover = 1024
    /// Milliseconds after which a shard sends the records that it has. Each time, another thread wakes, perhaps on
    /// the same processor, and delays a push that arrives then.
    public static let traceDelayMilliseconds = 100
    /// Refused pushes that the trace keeps. At 384 bytes each: 4 MiB of disk space.
    public static let tracedRefusals = 10_000
    /// Refusals that a shard records per second; the others are only counted.
    public static let refusalsPerSecond = 100
    /// The largest setting for tracing one of this many pushes.
    public static let traceSample = 1_000_000
    /// Pushes in one answer about the trace. With their events: about 4 MiB.
    public static let tracedPushes = 1000
    /// Events of one push in such an answer.
    public static let tracedEvents = 100
    /// Records in one answer to a client that follows the trace.
    public static let traceFeed = 1000
    /// Requests that wait for a push. At about 200 bytes each: 50 KiB. Further ones get 503.
    public static let traceWaits = 256
    /// Seconds for which a request may wait for a push.
    public static let waitSeconds = (usual: 30, most: 60)
    /// Requests about the trace that wait for their answers.
    public static let traceQuestions = 16

    // The log.

    /// Lines that are queued for stderr; further ones are dropped and counted.
    public static let logLines = 4096
    /// Bytes of these lines. Twice as much while a batch is being written: 2 MiB.
    public static let logBytes = 1024 * 1024
    /// Seconds for which lines of one kind are counted after the first (``RepeatFilter``).
    public static let logRepeatSeconds = 10
    /// Kinds of lines that are counted separately. With ``logSources`` each: 4 MiB.
    public static let logKinds = 1024
    /// Sources of lines of one kind that are counted separately. At about 60 bytes each: 4 KiB.
    public static let logSources = 64
    /// Bytes of a text from a peer that a line quotes.
    public static let quotedBytes = 120
    /// Milliseconds for which a program that ends waits until its last lines are written.
    public static let logFlushMilliseconds = 500

    // The control socket and metrics.

    /// Topics that metrics name; all others are counted together. At about 100 bytes a shard each.
    public static let measuredTopics = 100
    /// Connections to the metrics port, and those of one other machine's address. At about 200 KiB each, including
    /// the answer: 3 MiB.
    public static let metricsConnections = (most: 16, perAddress: 8)
    /// Seconds without progress after which a connection to the metrics port is closed.
    public static let metricsTimeoutSeconds = 10
    /// Bytes of memory for a request of such a connection.
    public static let metricsConnectionBytes = 16_384
    /// Milliseconds that a relay may take to report its figures; after that it counts as stuck.
    public static let metricsMilliseconds = 5_000
    /// Milliseconds for which figures are reused, because shards visit all their devices for new ones.
    public static let metricsAgeMilliseconds: UInt64 = 100

    /// Bytes of an answer on the control socket. A list of 200,000 devices with an app each has as many. They are in
    /// memory until the client has read them.
    public static let controlAnswerBytes = 64 * 1024 * 1024
}
