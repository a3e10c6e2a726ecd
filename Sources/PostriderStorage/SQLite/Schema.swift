/// The schema of a database file: the program it belongs to, and the SQL that migrates it to the newest version.
public struct Schema: Sendable {
    /// Marks the file as this program's (SQLite's `application_id`); never 0.
    public let applicationIdentifier: Int32
    /// `steps[n]` is the SQL that migrates version n to version n + 1. A released step is never changed; new steps
    /// are appended.
    public let steps: [String]

    /// Creates a schema from its parts.
    public init(applicationIdentifier: Int32, steps: [String]) {
        precondition(applicationIdentifier != 0, "0 is every other program's application identifier")
        self.applicationIdentifier = applicationIdentifier
        self.steps = steps
    }

    /// The newest version (SQLite's `user_version`).
    public var version: Int { steps.count }
}
