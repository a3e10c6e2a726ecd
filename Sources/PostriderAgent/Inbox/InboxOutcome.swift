// The result of committing a turn's changes to the inbox, for the log and the relay's reports.
extension Inbox {
    /// An app could not handle what lies in a row.
    struct Failure: Equatable {
        let row: Int64
        let topic: String
        /// One sentence.
        let reason: String
        /// The push whose relay wants to know that; nil: there is none.
        var reported: ReportedPush?
        /// How often it has failed, once it is counted.
        var attempts = 0
    }

    /// What became of arrivals, and of what could not be handled.
    struct Outcome: Equatable {
        /// Stored, to be handed over.
        var stored = 0
        /// Known already, and not stored again.
        var repeated = 0
        /// Of these, the ones that the relay took for pushes of their own and that were sent twice by their provider.
        var merged: [MergedPush] = []
        /// Dropped for want of room in an app's part of the inbox, by the app's number.
        var dropped: [Int64: Int] = [:]
        /// To be handed over again.
        var again: [Failure] = []
        /// Handed over as often as may be.
        var dead: [Failure] = []
        /// Rows of failures that are not there any more.
        var gone: [Int64] = []
        /// Gave way to newer ones with their collapse identifiers.
        var replaced: [Replaced] = []
    }

    /// A notification that gave way to a newer one.
    struct Replaced: Equatable {
        let row: Int64
        /// The push whose relay wants to know that; nil: there is none.
        let reported: ReportedPush?
    }
}
