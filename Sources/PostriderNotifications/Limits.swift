/// Every bound of the house in one place, each with what it costs when it is reached.
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
    /// Hexadecimal digits of a device token: Apple's announced most. Ours have 64, and all others are nobody's.
    public static let deviceTokenDigits = 200
    /// Bytes of a request body that are read before the stream is reset, so that one that is too large still
    /// gets its 413. Nothing above the payload limit is kept.
    public static let drainedBodyBytes = 65_536
    /// Depth of arrays and objects in a payload.
    public static let jsonDepth = 64
    /// Days that a notification without expiration, or with one further away, is kept.
    public static let storedDays: Int64 = 30

    // Who may connect.

    /// Connections that one source, an IPv4 address or an IPv6 /64, may begin each second on the average; a setting.
    /// A TLS handshake is about a millisecond of work.
    public static let sourceRate = 1000
    /// Seconds for which a source may begin connections at once: devices come back together, from behind one address.
    public static let sourceBurstSeconds = 5
    /// TLS handshakes of one source that may be under way. At about 60 KiB each: 120 MiB.
    public static let handshakesPerSource = 2048
    /// TLS handshakes that may be under way. At about 60 KiB each: 240 MiB.
    public static let handshakes = 4096
    /// Sources that are told apart. At about 100 bytes each: 6 MiB.
    public static let sources = 65_536

    /// Enrolments with a wrong key that one source may try in a minute before its refusals are put off. Each source is
    /// remembered for a minute at most, at about 40 bytes each: with ``sources`` 3 MiB.
    public static let enrolmentRefusalsPerMinute = 10
    /// Milliseconds for which such a refusal is put off. Less than an agent waits for its answer.
    public static let refusalMilliseconds = 5_000
    /// Refusals that one shard puts off at once; beyond that they are told at once. At about 100 bytes each: 400 KiB.
    public static let waitingRefusals = 4096

    // What a process needs of its limit of open files, besides connections and the 64 that listeners spare.

    /// Files of a relay, its ledger, its trace and its log.
    public static let relayFiles = 32
    /// Files of the server of its metrics, besides its connections.
    public static let metricsFiles = 5
    /// Files of one shard, without its listeners.
    public static let shardFiles = 5
    /// Files of an agent, with its buses.
    public static let agentFiles = 48
    /// Connections for which a relay must have room to start.
    public static let leastConnections = 64
    /// Connections of apps for which an agent must have room to start.
    public static let leastAppConnections = 16

    // When many devices return at once.

    /// Milliseconds within which a device's TLS handshake should be done that is begun now. Devices whose handshake
    /// would not are turned away before it, which costs them a back-off and the relay next to nothing.
    public static let handshakeMilliseconds = 2_000
    /// Handshakes of devices that one shard has under way whatever they cost. At about 60 KiB each: 4 MiB a shard.
    public static let handshakesLeast = 64
    /// Devices for which a shard fetches stored notifications at once: the least, the usual and the most. At a window
    /// of 5 KiB each: 10 MiB a shard.
    public static let fetches = (least: 1, usual: 32, most: 4096)
    /// Milliseconds after which a device that finds all of these places taken may come back: the least and the most.
    public static let slotMilliseconds = (least: 500, most: 60_000)

    // What a provider's connection may hold.

    /// Streams that a provider may have open at once on one connection. At 5 KiB of body each: 5 MiB.
    public static let providerStreams: UInt32 = 1000
    /// Decoded bytes of one header list; what Apple advertises. A provider's connection keeps room for one, and 10 KiB
    /// for the fields that it knows by number.
    public static let headerListBytes = 8000
    /// Fields in one header list.
    public static let headerFields = 100
    /// Verified provider tokens that one shard remembers. At about 150 bytes each: 600 KiB a shard.
    public static let cachedProviderTokens = 4096
    /// Bytes of a provider token; Apple's are about 230.
    public static let providerTokenBytes = 4096
    /// Bytes of the identifier of a key or a team; Apple's have 10.
    public static let keyIdentifierBytes = 64
    /// Minutes for which a connection keeps to a provider token before it may change to another.
    public static let providerTokenMinutes: Int64 = 20
    /// Seconds that a change of the provider token may come too early: dotAPNS changes at 20 minutes sharp, by
    /// another clock.
    public static let providerTokenSlackSeconds: Int64 = 60
    /// Topics in a provider's certificate; Apple's have fewer than 20. At about 60 bytes each: 18 KiB a connection.
    public static let certificateTopics = 300
    /// Seconds that a provider's connection may stay without a request: the least, the usual and the most. Apple
    /// publishes none, and advises a sign of life once in an hour.
    public static let providerIdleSeconds = (least: 1, usual: 60 * 60, most: 7 * 24 * 60 * 60)

    // What keys there may be ("Establishing a token-based connection to APNs").

    /// Good team-scoped keys of one team for one environment. Legacy keys, which are good in both, do not count.
    public static let teamKeysPerEnvironment = 2
    /// Good topic-specific keys of one team for one environment.
    public static let topicKeysPerEnvironment = 200
    /// Topics of one topic-specific key. At about 60 bytes each: 24 KiB a key.
    public static let topicsPerKey = 400

    // What a device's connection may hold.

    /// Bytes of one message from a device; the largest, an acknowledgement of a whole window, is below 1 KiB.
    public static let deviceMessageBytes = 16_384
    /// Bytes of one message from a relay. The largest, a welcome that lists ``registrationsPerDevice`` registrations
    /// with the longest topics, is below 80 KiB; a device holds at most one.
    public static let relayMessageBytes = 131_072
    /// Bytes of an enrolment key, of a device's name and of an agent's name and version.
    public static let courierTextBytes = 255
    /// Bytes of a device secret.
    public static let deviceSecretBytes = 32
    /// The longest `retry_after_milliseconds` that a device obeys: an hour.
    public static let retryAfterMilliseconds = 60 * 60 * 1000
    /// Deliveries that may wait for a device's acknowledgement at once. At 5 KiB of payload each: 320 KiB a
    /// device.
    public static let deliveryWindow = 64
    /// Things that a device reports in one message. At about 200 bytes each: 13 KiB.
    public static let reportEvents = 64
    /// Things that a device may report of one notification, each at 64 bytes in the trace, and its text.
    public static let reportsPerNotification = 8
    /// Bytes of the text in a report, such as the last lines that a handler has written.
    public static let reportTextBytes = 160
    /// Notifications of which a device may have yet to report; for those that it had before the relay was started, as
    /// many as its window has. A device writes no more into the trace than ``reportsPerNotification``
    /// for each push to it.
    public static let unreported = 1000
    /// Milliseconds for which notifications of priority 5 wait for others where the device saves power: five minutes.
    /// The relay looks every ten seconds.
    public static let groupMilliseconds: Int64 = 5 * 60 * 1000
    /// Topics that one device may register.
    public static let registrationsPerDevice = 256
    /// Seconds between a device's keepalive PINGs: the least, the usual and the most. The usual is below the 50 seconds
    /// after which proxies commonly close a silent connection (HAProxy's `timeout client 50s`).
    public static let keepaliveSeconds = (least: 5, usual: 45, most: 1800)
    /// Seconds between PINGs that a device goes down to by itself where a path cuts silent links. Each PING wakes a
    /// radio: a path that bears less is not for a device on a battery.
    public static let shortenedKeepaliveSeconds = 10
    /// Seconds for which a path bears a shortened interval before a longer one is tried: at first, and at most.
    public static let keepaliveTrialSeconds = (least: 60 * 60, most: 24 * 60 * 60)
    /// Network paths of which a device remembers what they bear. At about 100 bytes each: 2 KiB.
    public static let keepalivePaths = 16

    // Two machines with one device identity.

    /// Milliseconds for which a relay remembers a replaced process: one that returns within them has a clone.
    public static let replacedMilliseconds: Int64 = 60 * 60 * 1000
    /// Connections of a device that a relay remembers to have been replaced. At about 80 bytes each: 640 bytes for a
    /// device that was replaced.
    public static let replacedConnections = 8
    /// Returns of connections that are known by their address alone, within ten minutes, from which a relay concludes
    /// that there are two machines.
    public static let returnsByAddress = (count: 3, milliseconds: Int64(10 * 60 * 1000))
    /// Milliseconds after which the machine that was turned away may ask again: a minute.
    public static let duplicateRetryMilliseconds: UInt32 = 60 * 1000
    /// Milliseconds between two lines about one device: an hour.
    public static let duplicateLineMilliseconds: Int64 = 60 * 60 * 1000
    /// Milliseconds until a device that was replaced comes back, doubled each time: the least and the most.
    public static let replacedPauseMilliseconds = (least: 10_000, most: 60 * 60 * 1000)
    /// Milliseconds from a device connection's first byte to its hello.
    public static let helloMilliseconds = 10_000

    /// Milliseconds that open pushes and devices have to finish when the relay stops.
    public static let drainMilliseconds = 10_000

    // Channels ("Sending channel management requests to APNs", "Sending broadcast push notification requests").

    /// Channels that an app may have in one environment.
    public static let channelsPerApp = 10_000
    /// Lists of all channels that a provider's connection may have asked for and not taken. At 264 KiB each: 4 MiB a
    /// connection.
    public static let listings = 16
    /// Bytes of a broadcast's payload. All channels of an app that store one: 50 MiB in memory and on the disk.
    public static let broadcastPayloadBytes = 5120
    /// Hours that a channel keeps its most recent broadcast.
    public static let broadcastStoredHours: Int64 = 8
    /// Channels that one device may be subscribed to. At about 150 bytes each: 38 KiB a device. The agent shares them
    /// out among its apps.
    public static let subscriptionsPerDevice = 256
    /// Bytes that may wait in a device's stream when a broadcast is sent to it; above that it goes without. The
    /// bytes of a broadcast itself are shared among all devices of a shard.
    public static let broadcastBacklogBytes = 65_536

    // What an app of a device may say to its agent.

    /// Bytes of one message from an app.
    public static let appMessageBytes = 16_384
    /// Bytes of a failure's reason that are kept.
    public static let reasonBytes = 512

    // What waits.

    /// Pending notifications of one app on one device. The oldest of lowest priority is dropped and counted.
    public static let pendingPerRegistration = 1000
    /// Pushes that one device token takes a second in the long run, if nothing else is set. Beyond that it is 429
    /// `TooManyRequests`: a provider that has run wild must not run a device down.
    public static let pushesPerSecond = 1000
    /// Seconds for which a token that was left alone takes as many as come: ten thousand in a row.
    public static let pushBurstSeconds = 10
    /// Milliseconds between two notes in the registry that a device was seen: a day.
    public static let sightingMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// Such notes in one transaction, and in one round of the search for those that are due.
    public static let sightingsAtOnce = 1024
    /// Milliseconds for which what the clock ends and nobody can undo is put off after the clock was put forward by as
    /// much; and after a start, until the tokens of devices that have not come back are expired: an hour.
    public static let clockMilliseconds: Int64 = 60 * 60 * 1000
    /// Milliseconds for which a notification that is in a device's hands waits for its acknowledgement before it goes
    /// to the disk. Its 200 comes so much later where the device, against its habit, does not acknowledge at once.
    public static let acknowledgementMilliseconds = 10
    /// Letters in one shard's or the ledger's mailbox. At about 100 bytes each: 6 MiB. A full one answers
    /// 429.
    public static let letters = 65_536
    /// How long a shard may be told to look for more before it sleeps. Nothing that anybody waits for takes longer.
    public static let busyPollingMicroseconds = 10_000
    /// Operations in one ledger transaction.
    public static let ledgerBatch = 1024
    /// What a write-ahead log reserves of its disk in advance is at most one part in so many of what is left.
    public static let logReserveShare = 8
    /// Bytes that the disk must have left for anything to be reserved: 16 MiB.
    public static let logReserveLeastFree = 16 * 1024 * 1024

    // What is remembered of pushes that are done with (docs/operate/trace.md).

    /// Bytes of one segment of the trace, and segments: 256 MiB of disk. A push takes about 200 bytes.
    public static let traceSegmentBytes = 16 * 1024 * 1024
    /// Segments of the trace; then the oldest goes.
    public static let traceSegments = 16
    /// Bytes that the disk must have left for the trace to grow: 8 MiB. What is left then is for notifications.
    public static let traceLeastFree = 8 * 1024 * 1024
    /// Letters on their way to the trace, each with up to ``traceHandover`` records. At about 150 bytes a record:
    /// 40 MiB. Beyond that they are lost, and counted.
    public static let traceLetters = 256
    /// Records that a shard collects before it hands them over.
    public static let traceHandover = 1024
    /// Milliseconds after which it hands over what it has. Each time another thread wakes, perhaps on the same
    /// processor, and a push that comes right then is late.
    public static let traceDelayMilliseconds = 100
    /// Refused pushes that the trace keeps: at 384 bytes each, 4 MiB of disk.
    public static let tracedRefusals = 10_000
    /// Refusals that a shard writes down in a second; the others are counted only.
    public static let refusalsPerSecond = 100
    /// One push of how many is traced, at most.
    public static let traceSample = 1_000_000
    /// Pushes in one answer about the trace. With their events: about 4 MiB.
    public static let tracedPushes = 1000
    /// Events of one push in such an answer.
    public static let tracedEvents = 100
    /// Records in one answer to whoever follows the trace.
    public static let traceFeed = 1000
    /// Those who wait for a push, at about 200 bytes each: 50 KiB. Others are answered 503.
    public static let traceWaits = 256
    /// Seconds for which one may wait for a push in one request.
    public static let waitSeconds = (usual: 30, most: 60)
    /// Questions about the trace that wait for their answers.
    public static let traceQuestions = 16

    // What is logged.

    /// Lines that wait to be written to stderr; further ones are dropped and counted.
    public static let logLines = 4096
    /// Bytes of these lines. Twice as much while a batch is being written: 2 MiB.
    public static let logBytes = 1024 * 1024
    /// Seconds for which lines of one kind are counted after the first (``RepeatFilter``).
    public static let logRepeatSeconds = 10
    /// Kinds of lines that are counted at once. With ``logSources`` each: 4 MiB.
    public static let logKinds = 1024
    /// Sources of lines of one kind that are told apart. At about 60 bytes each: 4 KiB.
    public static let logSources = 64
    /// Bytes of a text from a peer that a line quotes.
    public static let quotedBytes = 120
    /// Milliseconds for which a program that ends waits for its last lines to be written.
    public static let logFlushMilliseconds = 500

    // What the operator asks for.

    /// Topics that metrics name; all others are counted together. At about 100 bytes a shard each.
    public static let measuredTopics = 100
    /// Connections to the metrics' port, and those of one address that is not this machine's. At about 200 KiB each,
    /// with the answer: 3 MiB.
    public static let metricsConnections = (most: 16, perAddress: 8)
    /// Seconds without progress after which a connection to the metrics' port is closed.
    public static let metricsTimeoutSeconds = 10
    /// Bytes of memory for a request of such a connection.
    public static let metricsConnectionBytes = 16_384
    /// Milliseconds for which a relay may take to be measured; then it is taken for stuck.
    public static let metricsMilliseconds = 5_000
    /// Milliseconds for which a measurement is told again: shards go through all their devices for a new one.
    public static let metricsAgeMilliseconds: UInt64 = 100

    /// Bytes of an answer on the control socket. A list of 200,000 devices with an app each has as many; they are in
    /// memory until the operator's program has read them.
    public static let controlAnswerBytes = 64 * 1024 * 1024
}
