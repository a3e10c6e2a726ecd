extension StringProtocol {
    /// This text without blanks and line ends at its beginning and end.
    package var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
