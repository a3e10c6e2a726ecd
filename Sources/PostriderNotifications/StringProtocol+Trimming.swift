extension StringProtocol {
    /// This text without white space and line breaks at its beginning and end.
    package var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
