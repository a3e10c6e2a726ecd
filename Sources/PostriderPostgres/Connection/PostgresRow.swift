import CPostriderPQ
import PostriderStorage

/// The answer to one statement. It is freed with its last reference.
@safe final class PostgresResult {
    private let handle: OpaquePointer

    /// Takes the ownership of libpq's result.
    init(owning handle: OpaquePointer) { unsafe self.handle = handle }

    deinit { unsafe PQclear(handle) }

    /// The rows of the answer.
    var rows: [PostgresRow] { unsafe (0..<PQntuples(handle)).map { PostgresRow(result: self, index: $0) } }

    /// Calls `body` with a value's bytes; with none for NULL.
    fileprivate func withBytes<Value>(
        _ row: CInt, _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> Value {
        let count = unsafe Int(PQgetlength(handle, row, CInt(column)))
        let start = unsafe UnsafeRawPointer(PQgetvalue(handle, row, CInt(column)))
        return unsafe body(
            UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count))
    }

    fileprivate func isNull(_ row: CInt, _ column: Int) -> Bool {
        unsafe PQgetisnull(handle, row, CInt(column)) != 0
    }
}

/// One row of an answer in PostgreSQL's binary format. Its columns are `bigint`, `text` and `bytea` only.
struct PostgresRow: ColumnReader {
    let result: PostgresResult
    let index: CInt

    func isNull(_ column: Int) -> Bool { result.isNull(index, column) }

    func integer(_ column: Int) -> Int64 {
        withBytes(column) { bytes in
            (0..<bytes.count).reduce(0) { number, index in number << 8 | Int64(bytes[index]) }
        }
    }

    func text(_ column: Int) -> String {
        unsafe result.withBytes(index, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    func bytes(_ column: Int) -> [UInt8] { unsafe result.withBytes(index, column) { unsafe Array($0) } }

    func withBytes<Value>(_ column: Int, _ body: (Span<UInt8>) -> Value) -> Value {
        unsafe result.withBytes(index, column) { unsafe body($0.span) }
    }
}
