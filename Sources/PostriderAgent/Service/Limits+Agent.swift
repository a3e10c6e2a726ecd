import PostriderCourier
public import PostriderNotifications

extension Limits {
    /// Notifications of one topic that wait for its app. At 5 KiB each: 5 MiB on the disk. The oldest of lowest
    /// priority is dropped and told to the log.
    static let inboxPerTopic = 1000
    /// Identities of one topic that are remembered, so that a second copy is known as one. More than a relay keeps
    /// pending for it (``Limits/pendingPerRegistration``). How old they are does not count: the clock may be set.
    /// At about 80 bytes each: 320 KiB on the disk.
    static let seenPerTopic = 4096
    /// Reports that wait for a link; then the oldest are forgotten. At 40 bytes each: 40 KiB.
    static let reportsWaiting = 1024
    /// Milliseconds for which reports are collected, so that the link is not woken for each.
    static let reportDelayMilliseconds = 1000
    /// Milliseconds after which a report that was sent is taken to have come to the relay: longer than a link that is
    /// dead is believed to live, by the usual PING.
    static let reportRepeatMilliseconds = 90_000
    /// How many of these are kept, to be sent again if the link is lost. At 250 bytes each: 64 KiB.
    static let reportsDoubtful = 256
    /// How often one is sent again: a relay takes ``Limits/reportsPerNotification``, repeats included.
    static let reportRepeats = 2
    /// Deliveries that may be under way to an app on one stream.
    static let appWindow = DeliveryWindow.largest
    /// Connections to the app socket that one user may have.
    static let appConnectionsPerUser = 64
    /// Attach streams on one of these connections.
    static let streamsPerAppConnection: UInt32 = 8
    /// Bytes that may wait on one of these connections to be worked off. Of a user's: 4 MiB.
    static let callBytesPerAppConnection: Int32 = 65_535
    /// Nanoseconds of one turn of the agent's loop in which calls of apps are begun: whoever else waits for the loop,
    /// the relay and systemd's watchdog among them, waits for so long and for one call.
    static let callNanosecondsPerTurn: UInt64 = 50_000_000
    /// Milliseconds, at random from 0, until an agent asks again whose identity or enrolment key the relay refuses: at
    /// first, and, doubled each time, at most.
    static let refusedPauseMilliseconds = (least: 1000, most: 60 * 60 * 1000)
    /// Pages of the write-ahead log after which it is copied into the database: 4 MiB.
    static let logPages = 1024
    /// Milliseconds until that is tried again where the disk has no room for it.
    static let logRetryMilliseconds = 10_000
}

extension Limits {
    /// Bytes of a local notification as its app asks for it. It fits into a message of its own.
    static let localRequestBytes = 8192
    /// Bytes of a local notification's identifier.
    static let localIdentifierBytes = 255
    /// Local notifications of one topic that are not due yet. At 8 KiB each: 512 KiB on the disk. Apple's is the same.
    static let pendingPerTopic = 64
    /// Local notifications of one topic that were delivered, and as many that were missed, that are kept for its app to
    /// see; the oldest go. At 8 KiB each: 1.6 MiB on the disk.
    static let noticesPerTopic = 100
    /// Bytes that an app has not taken yet of what it is told on a stream, beyond which its calls are refused.
    static let unsentBytesPerStream = 262_144
    /// Bytes that may wait on a stream at all, beyond which its connection is cut: those, a list more, and a window of
    /// the largest deliveries.
    static let outboundBytesPerStream = 2_097_152
    /// Calls of one topic that wait for the owner of the device to decide. At about 100 bytes each: 6 KiB.
    static let waitingCallsPerTopic = 64
    /// Local notifications that are settled in one transaction.
    static let settledAtOnce = 64
}

extension Limits {
    /// Milliseconds that a program which the agent has started may take until it has a stream to the agent.
    static let attachMilliseconds = 30_000
    /// Milliseconds that an app has to end after it was told that it will, and again after SIGTERM.
    static let farewellMilliseconds = 3000
    /// Ends of an app without having handled anything, within a window of time, that are a crash loop: more than the
    /// usual attempts, so that a notification that nobody can handle goes first.
    static let crashLoopExits = 8
    /// The window, in milliseconds.
    static let crashLoopWindowMilliseconds = 600_000
    /// Milliseconds, and up to a quarter more, until an app in a crash loop is started again.
    static let crashLoopPauseMilliseconds = 600_000
    /// How often an app is handed over a notification that it does not handle, and what can be set.
    public static let deliveryAttempts = (least: 1, usual: 5, most: 100)
    /// Milliseconds until the second attempt after a handler's failure; twice as long before each further one.
    static let redeliveryMilliseconds = 1000
    /// Seconds for which an app may be busy with one notification before it counts as stuck, and what a manifest can
    /// set.
    public static let handlerSeconds = (least: 1, usual: 60, most: 86_400)
    /// Milliseconds after which the log is told that an app is busy with one notification.
    static let handlerNoticeMilliseconds = 10_000
    /// Dead letters of one topic; the oldest go. At 5 KiB each: 500 KiB on the disk.
    static let deadLettersPerTopic = 100
    /// Bytes of a text that a user has written in response to an alert.
    static let responseTextBytes = 4096
    /// Bytes of the body of a request of an operator's command.
    static let orderBytes = 4096
    /// Manifests of apps, each a file. At about 1 KiB each: 256 KiB.
    public static let manifests = 256
}

extension Limits {
    /// Milliseconds that apps have before the device sleeps. Less than the five seconds that logind waits
    /// (`InhibitDelayMaxSec` in logind.conf(5)).
    static let sleepDelayMilliseconds = 4000
    /// Milliseconds that a keyboard may move.
    public static let keyboardMilliseconds: UInt32 = 10_000
    /// Points of a screen, in each direction.
    static let keyboardPoints: Int32 = 1_000_000

    /// Alerts of one topic that are shown, or wait to be; the oldest goes. At 8 KiB each: 256 KiB, and as much on the
    /// disk.
    static let alertsPerTopic = 32
    /// Questions to a user whether an app may notify that are closed without an answer; then there are no more.
    static let promptsPerTopic = 3
    /// Topics about which the owner has decided before their apps came. At about 300 bytes each: 75 KiB.
    static let decisionsInAdvance = 256
    /// Questions how an alert is presented that wait for an app. At about 200 bytes each: 50 KiB.
    static let openQuestions = 256
    /// Milliseconds that an app has to decide how an alert is presented.
    static let decisionMilliseconds = 3000
    /// Values in one message on a bus; a larger one is not taken. At about 50 bytes each: 200 KiB.
    static let busMessageValues = 4096
}

extension Limits {
    /// Milliseconds that an alert waits at most for its app's service extension, its turn included, and what can be
    /// set.
    /// Apple's is the same.
    public static let extensionMilliseconds = (least: 1000, usual: 30_000, most: 30_000)
    /// Service extensions that run at once, of all apps; of each app there is one. What a process takes is its own.
    static let extensionsAtOnce = 4
    /// Alerts that wait for a service extension or its turn; others are shown as they came. At 16 KiB each: 1 MiB.
    static let waitingExtensions = 64
    /// Bytes that a service extension may write. As a local notification's: the alert is kept on the disk.
    static let extensionOutputBytes = 8192
}
