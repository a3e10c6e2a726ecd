import CPostriderSQLite
public import PostriderNotifications

/// One prepared statement. It is finalised when the last reference is released. It is prepared once and run many
/// times, on the thread of its database.
///
/// All parameters are bound before each run, in the order in which they occur in the SQL. Columns are read by index
/// from 0, between a ``step()`` that returned true and the next call.
@safe public final class Statement {
    private let connection: DatabaseConnection
    private let sql: String
    private let parameterCount: Int
    private var prepared: OpaquePointer?
    /// The generation of the connection for which this was prepared.
    private var generation = 0
    /// Whether the statement changes nothing in the file.
    private var isReadOnly = false
    /// Why the statement could not be prepared again for the next run.
    private var failure: StoreError?
    /// The number of parameters bound for the next run.
    private var boundCount = 0
    /// Whether a run is under way: it was stepped, and neither reached its end nor was reset.
    private var isRunning = false
    /// The bound texts and bytes of one run, so that a row needs no allocation. SQLite copies what does not fit.
    private let arena: UnsafeMutableRawBufferPointer
    private var arenaUsed = 0

    private static let arenaBytes = 8192

    init(_ sql: String, on connection: DatabaseConnection) throws(StoreError) {
        let prepared = unsafe try Self.prepare(sql, on: connection)
        parameterCount = unsafe Int(sqlite3_bind_parameter_count(prepared))
        isReadOnly = unsafe sqlite3_stmt_readonly(prepared) != 0
        let byteCount = parameterCount == 0 ? 0 : Self.arenaBytes
        unsafe arena = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        self.sql = sql
        self.connection = connection
        unsafe self.prepared = prepared
        generation = connection.generation
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe arena.deallocate()
    }

    /// SQLite's handle; nil if the connection, and the statement with it, was closed since.
    private var handle: OpaquePointer? {
        unsafe generation == connection.generation ? prepared : nil
    }

    private static func prepare(_ sql: String, on connection: DatabaseConnection) throws(StoreError)
        -> OpaquePointer?
    {
        guard unsafe connection.handle != nil else { throw connection.doubt }
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try connection.check(unsafe sqlite3_prepare_v3(connection.handle, sql, -1, flags, &prepared, nil))
        return unsafe prepared
    }

    /// Prepares the statement again if the connection was reopened since.
    private func refresh() {
        guard unsafe handle == nil else { return }
        do throws(StoreError) {
            unsafe prepared = try Self.prepare(sql, on: connection)
            generation = connection.generation
            failure = nil
        } catch {
            failure = error
        }
    }

    // MARK: - Binding

    /// Binds the next parameter to a number.
    public func bind(_ value: Int64) {
        let index = nextParameter()
        check(unsafe sqlite3_bind_int64(handle, index, value))
    }

    /// Binds the next parameter to a number, or to NULL.
    public func bind(_ value: Int64?) {
        if let value { bind(value) } else { bindNull() }
    }

    /// Binds the next parameter to NULL.
    public func bindNull() {
        let index = nextParameter()
        check(unsafe sqlite3_bind_null(handle, index))
    }

    /// Binds the next parameter to a copy of these bytes.
    public func bind(_ bytes: Span<UInt8>) {
        let index = nextParameter()
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, bytes.count > 0 else {
                return check(unsafe sqlite3_bind_zeroblob(handle, index, 0))
            }
            if let kept = unsafe keep(bytes) {
                check(unsafe sqlite3_bind_blob64(handle, index, kept, UInt64(bytes.count), nil))
            } else {
                check(unsafe csqlite_bind_blob_copied(handle, index, start, UInt64(bytes.count)))
            }
        }
    }

    /// Binds the next parameter to a copy of these bytes.
    public func bind(_ bytes: [UInt8]) { bind(bytes.span) }

    /// Binds the next parameter to a copy of this text.
    public func bind(_ text: String) {
        let index = nextParameter()
        var text = text
        text.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            if let kept = unsafe keep(bytes) {
                let start = unsafe kept.assumingMemoryBound(to: CChar.self)
                let count = UInt64(bytes.count)
                check(unsafe sqlite3_bind_text64(handle, index, start, count, nil, UInt8(SQLITE_UTF8)))
            } else {
                let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                check(unsafe csqlite_bind_text_copied(handle, index, start, UInt64(bytes.count)))
            }
        }
    }

    /// Binds the next parameter to a copy of this text, or to NULL.
    public func bind(_ text: String?) {
        if let text { bind(text) } else { bindNull() }
    }

    private func nextParameter() -> CInt {
        precondition(!isRunning, "parameters are bound before the first step of a run")
        precondition(boundCount < parameterCount, "more values than the statement has parameters")
        if boundCount == 0 { refresh() }
        boundCount += 1
        return CInt(boundCount)
    }

    /// Copies the bytes into memory that lives until the run ends; nil if there is no room for them.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard let start = unsafe arena.baseAddress, unsafe arenaUsed + bytes.count <= arena.count else {
            return nil
        }
        let place = unsafe start + arenaUsed
        if let source = bytes.baseAddress { unsafe place.copyMemory(from: source, byteCount: bytes.count) }
        arenaUsed += bytes.count
        return UnsafeRawPointer(place)
    }

    /// Traps if binding failed: that happens only for a parameter that does not exist or a value of gigabytes. A
    /// statement that could not be prepared again takes no values.
    private func check(_ code: CInt) {
        precondition(code == SQLITE_OK || failure != nil, "a value could not be bound")
    }

    // MARK: - Running

    /// Runs the statement to its end, and ignores the rows that it returns.
    public func run() throws(StoreError) {
        while try step() {}
    }

    /// Advances to the next row. Returns false at the end. After that, and after an error, the statement can be bound
    /// again.
    public func step() throws(StoreError) -> Bool {
        precondition(boundCount == parameterCount, "every parameter is bound before a run")
        if parameterCount == 0, !isRunning { refresh() }
        if let failure { return try fail(failure) }
        guard isReadOnly || !connection.isDoubtful else { return try fail(connection.doubt) }
        isRunning = true
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW:
            return true
        case SQLITE_DONE:
            reset()
            return false
        default:
            return try fail(connection.failure(code))
        }
    }

    private func fail(_ error: StoreError) throws(StoreError) -> Bool {
        reset()
        throw error
    }

    /// Ends a run before its last row.
    public func reset() {
        unsafe sqlite3_reset(handle)
        failure = nil
        boundCount = 0
        arenaUsed = 0
        isRunning = false
    }

    // MARK: - Columns of the current row

    /// Whether the column is NULL.
    public func isNull(_ column: Int) -> Bool {
        unsafe sqlite3_column_type(handle, CInt(column)) == SQLITE_NULL
    }

    /// The column's number; 0 for NULL.
    public func integer(_ column: Int) -> Int64 {
        unsafe sqlite3_column_int64(handle, CInt(column))
    }

    /// The column's text; empty for NULL.
    public func text(_ column: Int) -> String {
        guard let start = unsafe sqlite3_column_text(handle, CInt(column)) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, CInt(column)))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The column's bytes; empty for NULL.
    public func bytes(_ column: Int) -> [UInt8] {
        withBytes(column) { bytes in
            unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
        }
    }

    /// Calls `body` with the column's bytes in SQLite's own memory; empty for NULL.
    public func withBytes<Value>(_ column: Int, _ body: (Span<UInt8>) -> Value) -> Value {
        let start = unsafe sqlite3_column_blob(handle, CInt(column))
        let count = unsafe Int(sqlite3_column_bytes(handle, CInt(column)))
        let bytes = unsafe UnsafeBufferPointer(
            start: start?.assumingMemoryBound(to: UInt8.self), count: count)
        return unsafe body(bytes.span)
    }
}
