import CPostriderPQ
import Glibc

/// One connection to a PostgreSQL server, in pipeline mode: statements are sent together, and their answers read
/// together, in one round trip. It is confined to one thread, and closed with its last reference.
@safe final class PostgresConnection {
    private let handle: OpaquePointer
    private let notices = Notices()
    /// Whether nothing can be asked through this connection any more.
    private(set) var isLost = false
    /// How long the server may be silent during an answer, in milliseconds.
    var patience: CInt

    /// What the server says besides its answers.
    private final class Notices {
        var warnings: [String] = []
    }

    /// How long connecting to one host may take, in seconds, unless the address says something else. libpq does not
    /// wait for less.
    private static let connectSeconds = "2"

    /// Connects to the first host of the address that answers and accepts changes.
    init(_ address: DatabaseAddress, application: String, patience: CInt) throws(PostgresFailure) {
        self.patience = patience
        guard let handle = unsafe cpq_connect(address.text, application, Self.connectSeconds) else {
            throw PostgresFailure(message: "no memory is left", isLost: true)
        }
        unsafe self.handle = handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else { throw lost() }
        guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1 else {
            throw lost()
        }
        unsafe PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context = unsafe context, let severity = unsafe cpq_severity(result) else { return }
                let notices = unsafe Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue()
                guard unsafe strcmp(severity, "WARNING") == 0 else { return }
                notices.warnings.append(
                    unsafe cpq_message(result).map { unsafe String(cString: $0) } ?? "a warning")
            }, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit { unsafe PQfinish(handle) }

    // MARK: - Asking

    /// Runs statements in one round trip, and returns their answers. If one fails, those after it are not run.
    func run(_ requests: [Request]) throws(PostgresFailure) -> [PostgresResult] {
        try send(requests)
        var results: [PostgresResult] = []
        var failure: PostgresFailure?
        while let result = unsafe try next() {
            switch unsafe PQresultStatus(result) {
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                if failure == nil { failure = PostgresFailure(result: result, statement: results.count) }
                unsafe PQclear(result)
            case PGRES_PIPELINE_ABORTED: unsafe PQclear(result)
            default: results.append(unsafe PostgresResult(owning: result))
            }
        }
        if let failure { throw failure }
        return results
    }

    /// Runs changes in one transaction and one round trip. A warning counts as a failure with an unknown outcome: a
    /// server that stops waiting for its synchronous standby commits, and warns.
    ///
    /// - Returns: the answers to the changes.
    @discardableResult
    func transaction(_ requests: [Request]) throws(PostgresFailure) -> ArraySlice<PostgresResult> {
        notices.warnings = []
        do throws(PostgresFailure) {
            let results = try run([Request("BEGIN")] + requests + [Request("COMMIT")])
            if let warning = notices.warnings.first {
                isLost = true
                throw PostgresFailure(message: warning, isLost: true)
            }
            return results.dropFirst().dropLast()
        } catch {
            if !error.isLost { _ = try run([Request("ROLLBACK")]) }
            var failure = error
            failure.statement = failure.statement.map { $0 - 1 }
            throw failure
        }
    }

    /// Runs one statement that returns any number of rows, and calls `visit` for each. Rows are read one by one. If
    /// `visit` throws, the connection is lost.
    func query<Fault: Error>(
        _ request: Request, fault: (PostgresFailure) -> Fault, _ visit: (PostgresRow) throws(Fault) -> Void
    ) throws(Fault) {
        do throws(PostgresFailure) { try send([request]) } catch { throw fault(error) }
        unsafe PQsetSingleRowMode(handle)
        var failure: PostgresFailure?
        while true {
            let result: OpaquePointer?
            do throws(PostgresFailure) { unsafe result = try next() } catch { throw fault(error) }
            guard let result = unsafe result else { break }
            switch unsafe PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE, PGRES_TUPLES_OK:
                let rows = unsafe PostgresResult(owning: result).rows
                do throws(Fault) {
                    for row in rows { try visit(row) }
                } catch {
                    isLost = true
                    throw error
                }
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                failure = PostgresFailure(result: result, statement: 0)
                unsafe PQclear(result)
            default: unsafe PQclear(result)
            }
        }
        if let failure { throw fault(failure) }
    }

    private func send(_ requests: [Request]) throws(PostgresFailure) {
        guard !isLost else { throw PostgresFailure(message: "the connection is closed", isLost: true) }
        for request in requests {
            guard send(request) == 1 else { throw lost() }
        }
        guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
    }

    private func send(_ request: Request) -> CInt {
        let parameters = request.parameters
        let types = parameters.values.map(\.type)
        let lengths = parameters.values.map { CInt($0.bytes?.count ?? 0) }
        let formats = [CInt](repeating: 1, count: types.count)
        let count = CInt(types.count)
        return unsafe parameters.bytes.withUnsafeBytes { bytes in
            // A pointer to no bytes must not be nil, which means NULL.
            let start = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let values: [UnsafePointer<CChar>?] = unsafe parameters.values.map { value in
                guard let range = value.bytes, let start = unsafe start else { return nil }
                return unsafe (start + range.lowerBound).assumingMemoryBound(to: CChar.self)
            }
            if let name = request.name {
                return unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
            }
            return unsafe PQsendQueryParams(
                handle, request.sql, count, types, values, lengths, formats, 1)
        }
    }

    /// Prepares statements under their names.
    func prepare(_ requests: [Request]) throws(PostgresFailure) {
        for request in requests {
            guard let name = request.name else { continue }
            guard unsafe PQsendPrepare(handle, name, request.sql, 0, nil) == 1 else { throw lost() }
        }
        _ = try run([])
    }

    /// The next result of what was sent; nil after the last one.
    private func next() throws(PostgresFailure) -> OpaquePointer? {
        while true {
            while unsafe PQisBusy(handle) != 0 { try exchange() }
            // Between the results of two statements there is a nil.
            guard let result = unsafe PQgetResult(handle) else {
                if unsafe PQstatus(handle) != CONNECTION_OK { throw lost() }
                continue
            }
            guard unsafe PQresultStatus(result) == PGRES_PIPELINE_SYNC else {
                if unsafe PQstatus(handle) != CONNECTION_OK {
                    unsafe PQclear(result)
                    throw lost()
                }
                return unsafe result
            }
            unsafe PQclear(result)
            return nil
        }
    }

    /// Sends and receives what is possible. Waits if nothing is, but not longer than the patience.
    private func exchange() throws(PostgresFailure) {
        let unsent = unsafe PQflush(handle)
        guard unsent >= 0, unsafe PQconsumeInput(handle) == 1 else { throw lost() }
        guard unsafe PQisBusy(handle) != 0 else { return }
        let interest = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
        var socket = pollfd(fd: unsafe PQsocket(handle), events: interest, revents: 0)
        while true {
            let ready = unsafe poll(&socket, 1, patience)
            if ready > 0 { return }
            if ready < 0, errno == EINTR { continue }
            isLost = true
            throw PostgresFailure(message: "no answer came in \(patience) ms", isLost: true)
        }
    }

    /// Gives the connection up, with libpq's reason.
    private func lost() -> PostgresFailure {
        isLost = true
        let message = unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? ""
        return PostgresFailure(message: message, isLost: true)
    }
}
