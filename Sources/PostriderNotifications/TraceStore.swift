/// A place between two records of a trace.
public struct TracePosition: Hashable, Sendable {
    /// The segment's number.
    public let segment: Int
    /// How far into the segment; 0 is its beginning. Only the store knows what it counts.
    public let offset: Int

    /// A position from its parts.
    public init(segment: Int, offset: Int = 0) {
        self.segment = segment
        self.offset = offset
    }
}

/// The seam behind which the trace is kept: segments that are written to the end, the oldest of which goes when there
/// are too many. Nothing is promised of it: what was written last may be lost when the machine stops.
///
/// One thread calls it, the trace's own; everything completes before the call returns.
public protocol TraceStore: AnyObject {
    /// The highest row that the trace tells of, even if it has forgotten it meanwhile; 0 where there is none.
    var lastRow: QueueRow { get }
    /// The numbers of the segments, oldest first; they rise for ever.
    var segments: ClosedRange<Int> { get }
    /// Where the next record will be.
    var end: TracePosition { get }

    /// Writes records down, at the end. Where it throws, none, some or all of them are lost.
    func append(_ records: [TraceRecord]) throws(StoreError)

    /// Visits at most `limit` records of one segment in their order, and answers where to go on; where the segment is
    /// gone already, those of the oldest that is there.
    func visit(
        from position: TracePosition, limit: Int, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) -> TracePosition

    /// Writes refusals down, the last ``Limits/tracedRefusals`` of which are kept: they never push out lives.
    func append(_ refusals: [TraceRefusal]) throws(StoreError)

    /// Visits the refusals that are kept, oldest first.
    func visitRefusals(_ visit: (TraceRefusal) -> Void) throws(StoreError)

    /// Ends the trace's work. Nothing may be called after it.
    func close()
}
