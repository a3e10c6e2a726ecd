import PostriderCourier
public import PostriderNotifications

extension Limits {
    /// Notifications of one topic that wait for its app. At 5 KiB each: 5 MiB on the disk. Above it the oldest of
    /// lowest priority is dropped, and that is logged.
    static let inboxPerTopic = 1000
    /// Identities of one topic that are remembered, so that a copy is recognised. More than a relay keeps pending for
    /// it (``Limits/pendingPerRegistration``). Their age does not matter, because the clock may be set. At about 80
    /// bytes each: 320 KiB on the disk.
    static let seenPerTopic = 4096
    /// Reports of ends, such as done or given up, that are kept on the disk until the relay has confirmed them; above
    /// it the oldest are removed. That is the inbox of four topics (``inboxPerTopic``). At 250 bytes each: 1 MiB.
    static let reportsKept = 4096
    /// Reports of ends that are sent before the relay has confirmed the ones before. At 250 bytes each: 64 KiB.
    static let reportsUnconfirmed = 256
    /// Milliseconds until confirmed reports are removed from the disk, unless something else is committed first.
    static let reportRemovalMilliseconds = 10_000
    /// Reports of steps, such as begun or tried again, that wait for a link; above it the oldest are dropped. At 250
    /// bytes each: 256 KiB.
    static let reportsWaiting = 1024
    /// Milliseconds for which reports are collected, so that the link is not woken for each.
    static let reportDelayMilliseconds = 1000
    /// Milliseconds after which the report of a step that was not confirmed is assumed to have arrived: longer than a
    /// dead link goes unnoticed with the default keepalive.
    static let reportRepeatMilliseconds = 90_000
    /// How many reports of steps are kept until the relay has confirmed them, to be sent again if the link is lost
    /// first. At 250 bytes each: 256 KiB.
    static let reportsDoubtful = 1024
    /// How often the report of a step is sent again. A relay takes ``Limits/reportsPerNotification`` for each
    /// notification, including those that arrive twice; most of these have not arrived.
    static let reportRepeats = 16
    /// Deliveries that may be under way to an app on one stream.
    static let appWindow = DeliveryWindow.largest
    /// Connections to the app socket that one user may have.
    static let appConnectionsPerUser = 64
    /// Attach streams on one of these connections.
    static let streamsPerAppConnection: UInt32 = 8
    /// Bytes that may wait on one of these connections to be processed. For one user: 4 MiB.
    static let callBytesPerAppConnection: Int32 = 65_535
    /// Nanoseconds of one turn of the agent's loop in which calls of apps are started. Everything else on the loop,
    /// such as the relay's link and systemd's watchdog, waits for this time and for one call.
    static let callNanosecondsPerTurn: UInt64 = 50_000_000
    /// Addresses of the relay that an agent tries in turn.
    public static let relayAddresses = 8
    /// Milliseconds until an agent asks again after the relay has refused its identity or its enrolment key: a random
    /// time below a bound that begins with `least` and doubles up to `most`.
    static let refusedPauseMilliseconds = (least: 1000, most: 60 * 60 * 1000)
    /// Pages of the write-ahead log after which it is copied into the database (checkpoint): 4 MiB.
    static let logPages = 1024
    /// Milliseconds until a checkpoint is tried again that failed because the disk was full.
    static let logRetryMilliseconds = 10_000
}

extension Limits {
    /// Bytes of a local notification as its app requests it. It fits into one message.
    static let localRequestBytes = 8192
    /// Bytes of a local notification's identifier.
    static let localIdentifierBytes = 255
    /// Pending local notifications of one topic. At 8 KiB each: 512 KiB on the disk. Apple's limit is the same.
    static let pendingPerTopic = 64
    /// Delivered local notifications of one topic, and as many missed ones, that are kept for its app to see; above it
    /// the oldest are removed. At 8 KiB each: 1.6 MiB on the disk.
    static let noticesPerTopic = 100
    /// Bytes that may wait to be sent to an app on a stream; above it the app's calls are refused.
    static let unsentBytesPerStream = 262_144
    /// Bytes that may wait to be sent on a stream in any case; above it the connection is cut. They are
    /// ``unsentBytesPerStream``, one more list, and a window of the largest deliveries.
    static let outboundBytesPerStream = 2_097_152
    /// Calls of one topic that wait for the owner's decision. At about 100 bytes each: 6 KiB.
    static let waitingCallsPerTopic = 64
    /// Local notifications that are settled in one transaction.
    static let settledAtOnce = 64
}

extension Limits {
    /// Milliseconds until a program that the agent has started must have attached.
    static let attachMilliseconds = 30_000
    /// Milliseconds that an app has to end after it was told to, and again after SIGTERM.
    static let farewellMilliseconds = 3000
    /// How many times an app has to end without handling anything, within the window, to be in a crash loop. It is more
    /// than the default number of attempts, so that a notification that nobody can handle becomes a dead letter first.
    static let crashLoopExits = 8
    /// The window of a crash loop, in milliseconds.
    static let crashLoopWindowMilliseconds = 600_000
    /// Milliseconds, and up to a quarter more, until an app in a crash loop is started again.
    static let crashLoopPauseMilliseconds = 600_000
    /// How often a notification is handed over to an app that does not handle it, and what can be set.
    public static let deliveryAttempts = (least: 1, usual: 5, most: 100)
    /// Milliseconds until the second attempt after a failure; doubled before each further one.
    static let redeliveryMilliseconds = 1000
    /// Seconds that an app may take for one notification before it counts as stuck, and what a manifest can set.
    public static let handlerSeconds = (least: 1, usual: 60, most: 86_400)
    /// Milliseconds after which it is logged that an app is busy with one notification.
    static let handlerNoticeMilliseconds = 10_000
    /// Dead letters of one topic; above it the oldest are removed. At 5 KiB each: 500 KiB on the disk.
    static let deadLettersPerTopic = 100
    /// Bytes of a text that a user has written in response to an alert.
    static let responseTextBytes = 4096
    /// Bytes of the body of a `postrider-agent` command's request.
    static let orderBytes = 4096
    /// Manifests of apps, each a file. At about 1 KiB each: 256 KiB.
    public static let manifests = 256
}

extension Limits {
    /// Milliseconds that apps have before the device sleeps. Less than the five seconds that logind waits
    /// (`InhibitDelayMaxSec` in logind.conf(5)).
    static let sleepDelayMilliseconds = 4000
    /// The longest movement of a keyboard, in milliseconds.
    public static let keyboardMilliseconds: UInt32 = 10_000
    /// The largest coordinate of a screen.
    static let keyboardPoints: Int32 = 1_000_000

    /// Alerts of one topic that are shown or wait to be; above it the oldest is removed. At 8 KiB each: 256 KiB, and as
    /// much on the disk.
    static let alertsPerTopic = 32
    /// How often a user is asked whether an app may notify, if the question is closed without an answer.
    static let promptsPerTopic = 3
    /// Topics about which the owner has decided before their apps attached. At about 300 bytes each: 75 KiB.
    static let decisionsInAdvance = 256
    /// Questions to apps how an alert is presented that wait for an answer. At about 200 bytes each: 50 KiB.
    static let openQuestions = 256
    /// Milliseconds that an app has to decide how an alert is presented.
    static let decisionMilliseconds = 3000
    /// Values in one message on a bus; a message with more is refused. At about 50 bytes each: 200 KiB.
    static let busMessageValues = 4096
}

extension Limits {
    /// The most milliseconds that an alert waits for its app's service extension, including the time until its turn,
    /// and what can be set. Apple's limit is the same.
    public static let extensionMilliseconds = (least: 1000, usual: 30_000, most: 30_000)
    /// Service extensions of all apps that run at once; one for each app. The memory of the processes is not bounded by
    /// this.
    static let extensionsAtOnce = 4
    /// Alerts that wait for a service extension; above it alerts are shown unchanged. At 16 KiB each: 1 MiB.
    static let waitingExtensions = 64
    /// Bytes that a service extension may write. The same as for a local notification, because the alert is stored.
    static let extensionOutputBytes = 8192
}
