import PostriderNotifications

/// When a database that could not be reached is tried again: after a pause that doubles with each failure.
struct Reconnection {
    private var pause: Duration = .zero
    private let pauses: (first: Duration, most: Duration)
    /// The last failure, and until when it is repeated without an attempt.
    private var last: (error: StoreError, until: ContinuousClock.Instant)?

    /// The shortest and the longest pause.
    static let usualPauses = (first: Duration.milliseconds(100), most: Duration.seconds(5))

    init(pauses: (first: Duration, most: Duration)) { self.pauses = pauses }

    /// Throws the last failure during the pause after it.
    func begin() throws(StoreError) {
        if let last, ContinuousClock.now < last.until { throw last.error }
    }

    /// An attempt has failed.
    mutating func failed(_ error: StoreError) {
        pause = min(max(pause * 2, pauses.first), pauses.most)
        last = (error, .now + pause)
    }

    /// An attempt has succeeded.
    mutating func succeeded() { self = Reconnection(pauses: pauses) }
}
