public import PostriderNotifications

/// A trace that keeps everything in memory, for tests and the simulator. It is the specification for ``FileTrace``.
public final class MemoryTrace: TraceStore {
    /// What was written to a trace. It outlives the trace as a disk outlives a process.
    public final class Disk {
        /// While this is set, every call fails with it.
        public var fault: StoreError?
        fileprivate var lastRow = QueueRow(0)
        fileprivate var first = 1
        fileprivate var segments: [[TraceRecord]] = [[]]
        fileprivate var refusals: [TraceRefusal] = []

        /// Creates an empty disk.
        public init() {}
    }

    private let disk: Disk
    private let segmentRecords: Int
    private let mostSegments: Int
    private let mostRefusals: Int

    /// Creates a trace on this disk with limits on its segments and their records.
    public init(
        disk: Disk = Disk(), segmentRecords: Int = 1000, mostSegments: Int = Limits.traceSegments,
        mostRefusals: Int = Limits.tracedRefusals
    ) {
        precondition(segmentRecords > 0 && mostSegments > 0)
        self.disk = disk
        self.segmentRecords = segmentRecords
        self.mostSegments = mostSegments
        self.mostRefusals = mostRefusals
    }

    /// The highest row that the trace mentions.
    public var lastRow: QueueRow { disk.lastRow }
    /// The numbers of the segments, oldest first.
    public var segments: ClosedRange<Int> { disk.first...disk.first + disk.segments.count - 1 }
    /// The position of the next record.
    public var end: TracePosition {
        TracePosition(segment: segments.upperBound, offset: disk.segments.last?.count ?? 0)
    }

    /// Appends records.
    public func append(_ records: [TraceRecord]) throws(StoreError) {
        if let fault = disk.fault { throw fault }
        for record in records {
            if disk.segments[disk.segments.count - 1].count >= segmentRecords { disk.segments.append([]) }
            disk.segments[disk.segments.count - 1].append(record)
            disk.lastRow = max(disk.lastRow, record.row)
        }
        let surplus = max(disk.segments.count - mostSegments, 0)
        disk.segments.removeFirst(surplus)
        disk.first += surplus
    }

    /// Visits at most `limit` records of one segment in order, and returns where to continue.
    public func visit(
        from position: TracePosition, limit: Int, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) -> TracePosition {
        if let fault = disk.fault { throw fault }
        guard position.segment <= segments.upperBound else { return end }
        let isGone = position.segment < segments.lowerBound
        let number = isGone ? segments.lowerBound : position.segment
        let records = disk.segments[number - disk.first].dropFirst(isGone ? 0 : position.offset)
        for record in records.prefix(limit) { visit(record) }
        guard records.count <= limit else {
            return TracePosition(segment: number, offset: records.startIndex + limit)
        }
        return number == segments.upperBound ? end : TracePosition(segment: number + 1)
    }

    /// Appends refusals, and forgets the oldest.
    public func append(_ refusals: [TraceRefusal]) throws(StoreError) {
        if let fault = disk.fault { throw fault }
        disk.refusals = (disk.refusals + refusals).suffix(mostRefusals)
    }

    /// Visits the stored refusals, oldest first.
    public func visitRefusals(_ visit: (TraceRefusal) -> Void) throws(StoreError) {
        if let fault = disk.fault { throw fault }
        for refusal in disk.refusals { visit(refusal) }
    }

    /// Does nothing.
    public func close() {}
}
