import CPostriderPQ

/// A failure of a connection or of a statement, in the server's or libpq's words.
struct PostgresFailure: Error {
    /// The code of the server's error (PostgreSQL, appendix A); empty if the server did not send one.
    let state: String
    /// The message, in one line.
    let message: String
    /// Whether the connection is lost. Then nobody knows whether a commit under way has succeeded.
    let isLost: Bool
    /// The index of the statement that failed among those sent together; nil if there is none.
    var statement: Int?

    init(state: String = "", message: String, isLost: Bool) {
        self.state = state
        self.message = Self.line(message)
        self.isLost = isLost
    }

    /// The error of a statement.
    @safe init(result: OpaquePointer, statement: Int) {
        let (state, text) = unsafe (cpq_state(result), cpq_message(result))
        let whole = unsafe PQresultErrorMessage(result)
        self.init(
            state: unsafe state.map { unsafe String(cString: $0) } ?? "",
            message: unsafe (text ?? UnsafePointer(whole)).map { unsafe String(cString: $0) } ?? "",
            isLost: false)
        self.statement = statement
    }

    /// A message of several lines as one, and of bounded length.
    private static func line(_ text: String) -> String {
        let words = text.split(whereSeparator: \.isNewline).map { line in
            line.drop(while: { $0 == " " || $0 == "\t" })
        }
        return String(words.joined(separator: "; ").prefix(500))
    }
}
