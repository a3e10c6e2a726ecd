/// The records of a connection's open streams. A stream is open from its header block (at a client: from the request)
/// until it is closed.
///
/// Records are reused for later streams and live as long as this table, so that nghttp2 may hold unretained pointers to
/// them.
struct OpenStreams {
    /// The first ``count`` records are in use, the others are free.
    private var records: [StreamRecord] = []
    /// How many streams are open.
    private(set) var count = 0
    /// How many of the open streams have an answer that goes on until it is finished.
    private(set) var streamingCount = 0

    /// The records in use, in no order.
    var all: ArraySlice<StreamRecord> { records[..<count] }

    /// The record of the only stream of a connection that has one; nil if it is closed.
    var first: StreamRecord? { count > 0 ? records[0] : nil }

    /// Whether any open stream may have a deadline. A stream whose answer goes on until it is finished has none.
    var hasAwaited: Bool { count > streamingCount }

    /// Adds a stream that opens at `moment`, a count of the connection's ticks.
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
            // `swapAt` of an array would retain and release both records.
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

    /// The answer has ended, or the stream was reset.
    mutating func endStreaming(_ record: StreamRecord) {
        guard record.isStreaming else { return }
        record.isStreaming = false
        streamingCount -= 1
    }

    /// Frees the memory of unused records.
    mutating func releaseSpareRecords() { records = Array(all) }
}
