/// The columns of one row of a database's answer, by index from 0. The records of the registry and the queue are read
/// from it, whatever the engine.
package protocol ColumnReader {
    /// Whether the column is NULL.
    func isNull(_ column: Int) -> Bool
    /// The column's number; 0 for NULL.
    func integer(_ column: Int) -> Int64
    /// The column's text; empty for NULL.
    func text(_ column: Int) -> String
    /// The column's bytes; empty for NULL.
    func bytes(_ column: Int) -> [UInt8]
    /// Calls `body` with the column's bytes in the engine's own memory; empty for NULL.
    func withBytes<Value>(_ column: Int, _ body: (Span<UInt8>) -> Value) -> Value
}

extension Statement: ColumnReader {}
