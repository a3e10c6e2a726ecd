// The result of committing a turn's changes to the inbox, for the log and the relay's reports.
extension Inbox {
    /// A message for the app of this number.
    struct Arrival {
        let app: Int64
        let parcel: InboxContent
    }

    /// A row that an app could not handle.
    struct Failure: Equatable {
        let row: Int64
        let topic: String
        /// One sentence.
        let reason: String
        /// The push to report about; nil if the relay did not ask for reports.
        var reported: ReportedPush?
        /// For how long the app or handler had it.
        var tookMilliseconds: UInt64 = 0
        /// How often it has failed, set once the failure is counted.
        var attempts = 0
    }

    /// What became of arrivals and failures.
    struct Outcome: Equatable {
        /// How many were stored, to be handed over.
        var stored = 0
        /// How many were known already, and not stored again.
        var repeated = 0
        /// Those of them that their provider sent twice and the relay took for two pushes.
        var merged: [MergedPush] = []
        /// How many were dropped because an app's part of the inbox was full, by the app's number.
        var dropped: [Int64: Int] = [:]
        /// Failures that are to be handed over again.
        var again: [Failure] = []
        /// Failures that became dead letters.
        var dead: [Failure] = []
        /// The rows of failures that no longer exist.
        var gone: [Int64] = []
        /// Messages that were replaced by newer ones of the same collapse identifier.
        var replaced: [Replaced] = []
    }

    /// A message that was stored.
    struct Stored {
        let row: Int64
        /// The number of its app.
        let app: Int64
        let parcel: InboxContent
    }

    /// A message that was replaced by a newer one.
    struct Replaced: Equatable {
        let row: Int64
        /// The push to report about; nil if the relay did not ask for reports.
        let reported: ReportedPush?
    }
}
