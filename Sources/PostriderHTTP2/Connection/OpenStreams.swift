/// The records of a connection's open streams: those that had a header block (at a client: a request) and are not
/// closed.
///
/// Records are used again for later streams and live as long as this table, so that nghttp2 may hold them unretained.
struct OpenStreams {
    /// The first ``count`` are in use; those behind them are free.
    private var records: [StreamRecord] = []
    /// How many streams are open.
    private(set) var count = 0
    /// How many of these have an answer that goes on until it is finished.
    private(set) var streamingCount = 0

    /// The records in use, in no order.
    var all: ArraySlice<StreamRecord> { records[..<count] }

    /// The record of the only stream of a connection that has one; nil if it is closed.
    var first: StreamRecord? { count > 0 ? records[0] : nil }

    /// Whether the peer may owe anything on a stream. Nothing is waited for on a stream whose answer goes on.
    var hasAwaited: Bool { count > streamingCount }

    /// Adds a stream that opens at a moment of the connection.
    mutating func add(_ id: Int32, at moment: Int) -> StreamRecord {
        if count == records.count { records.append(StreamRecord(index: count)) }
        let record = records[count]
        count += 1
        record.id = id
        record.since = moment
        return record
    }

    /// Frees the record of a stream that is closed.
    mutating func remove(_ record: StreamRecord) {
        count -= 1
        let (place, last) = (record.index, count)
        if place != last {
            records[last].index = place
            record.index = last
            // An array's own exchange counts references up and down.
            unsafe records.withUnsafeMutableBufferPointer { unsafe $0.swapAt(place, last) }
        }
        endStreaming(record)
        record.clear()
    }

    /// The answer on this stream goes on until it is finished.
    mutating func beginStreaming(_ record: StreamRecord) {
        record.isStreaming = true
        streamingCount += 1
    }

    /// The answer has its end, or is not wanted any more.
    mutating func endStreaming(_ record: StreamRecord) {
        guard record.isStreaming else { return }
        record.isStreaming = false
        streamingCount -= 1
    }

    /// Gives back the records that are free.
    mutating func releaseSpareRecords() { records = Array(all) }
}
