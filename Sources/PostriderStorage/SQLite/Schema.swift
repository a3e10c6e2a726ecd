/// What a database file of ours must look like: whose file it is, and the steps that bring it to the newest
/// version.
public struct Schema: Sendable {
    /// Marks the file as ours (SQLite's `application_id`); never 0.
    public let applicationIdentifier: Int32
    /// `steps[n]` is the SQL that takes version n to version n + 1. Published steps are never changed, only
    /// added to.
    public let steps: [String]

    /// A schema from its parts.
    public init(applicationIdentifier: Int32, steps: [String]) {
        precondition(applicationIdentifier != 0, "0 is every other program's application identifier")
        self.applicationIdentifier = applicationIdentifier
        self.steps = steps
    }

    /// The newest version (SQLite's `user_version`).
    public var version: Int { steps.count }
}
