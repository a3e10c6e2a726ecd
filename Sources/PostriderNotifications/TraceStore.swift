/// A position between two records of a trace.
public struct TracePosition: Hashable, Sendable {
    /// The segment's number.
    public let segment: Int
    /// The offset in the segment; 0 is its beginning. Its unit depends on the store.
    public let offset: Int

    /// Creates a position from its parts.
    public init(segment: Int, offset: Int = 0) {
        self.segment = segment
        self.offset = offset
    }
}

/// The interface of a store for the trace: segments are appended to, and the oldest is removed when there are too
/// many. Nothing is guaranteed to be durable: the last records may be lost if the machine stops.
///
/// Only the trace's thread calls it; everything completes before the call returns.
public protocol TraceStore: AnyObject {
    /// The highest row that the trace has ever mentioned, even if its records were removed; 0 if there is none.
    var lastRow: QueueRow { get }
    /// The numbers of the segments, oldest first. They only rise.
    var segments: ClosedRange<Int> { get }
    /// The position of the next record.
    var end: TracePosition { get }

    /// Appends records. If it throws, none, some or all of them are lost.
    func append(_ records: [TraceRecord]) throws(StoreError)

    /// Visits at most `limit` records of one segment in order, and returns where to continue. If the segment was
    /// removed, it visits the oldest existing one.
    func visit(
        from position: TracePosition, limit: Int, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) -> TracePosition

    /// Records refusals, of which the last ``Limits/tracedRefusals`` are kept. They do not displace other records.
    func append(_ refusals: [TraceRefusal]) throws(StoreError)

    /// Visits the stored refusals, oldest first.
    func visitRefusals(_ visit: (TraceRefusal) -> Void) throws(StoreError)

    /// Closes the trace. No call may follow.
    func close()
}
