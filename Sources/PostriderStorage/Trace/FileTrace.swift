import FoundationEssentials
import Glibc
public import PostriderNotifications

/// A trace in files of one directory: `00000001.segment` and so on. Segments are appended to and never changed, and
/// the oldest is removed when there are too many. Nothing is synced: after a power failure the last records may be
/// missing, and a record written by half is cut off. Refusals are in a separate file, `refused`.
public final class FileTrace: TraceStore {
    private let path: String
    private let segmentBytes: Int
    private let mostSegments: Int
    private var segment: TraceSegment
    private var encoder = TraceEncoder()
    private var names: TraceNames
    private let refusals: RefusalRing
    /// Returns the free bytes on the disk.
    private let free: () -> Int
    /// Where the last visit to an older segment stopped, and the names defined before that position, because a reader
    /// that follows the trace continues there.
    private var bookmark: (position: TracePosition, names: TraceNames)?

    /// The highest row that the trace mentions.
    public private(set) var lastRow: QueueRow
    /// The numbers of the segments, oldest first.
    public private(set) var segments: ClosedRange<Int>
    /// The position of the next record.
    public var end: TracePosition { TracePosition(segment: segments.upperBound, offset: segment.byteCount) }

    /// The bytes of one read.
    private static let chunkBytes = 1 << 20

    /// Opens the trace in this directory, and creates it (mode 0700, files 0600) if it is missing. A directory must
    /// not be opened twice at a time; the owner of its parent directory ensures that.
    ///
    /// - Parameter mebibytes: the most disk space of the segments, rounded down to whole ones; two are kept at least.
    public convenience init(
        directory: String, log: Log, mebibytes: Int = Limits.traceMebibytes.usual
    ) throws(StoreError) {
        try self.init(
            directory: directory, log: log, segmentBytes: Limits.traceSegmentBytes,
            mostSegments: max(2, (mebibytes << 20) / Limits.traceSegmentBytes),
            refusals: Limits.tracedRefusals)
    }

    /// Opens a trace with limits.
    ///
    /// - Parameters:
    ///   - mostSegments: the most segments that are kept.
    ///   - segmentBytes: the most bytes of a segment.
    ///   - free: returns the free bytes on the disk.
    init(
        directory path: String, log: Log, segmentBytes: Int, mostSegments: Int, refusals places: Int,
        free: (() -> Int)? = nil
    ) throws(StoreError) {
        precondition(segmentBytes >= TraceBytes.headerBytes + TraceBytes.mostBytes && mostSegments > 0)
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw StoreError(traceCode: errno, "The directory \(path) cannot be created")
        }
        self.path = path
        self.free = free ?? { DiskSpace.free(at: path) }
        self.segmentBytes = segmentBytes
        self.mostSegments = mostSegments
        refusals = try RefusalRing(path: path + "/refused", places: places)
        let numbers = Self.numbers(in: path)
        let newest = numbers.last ?? 1
        if let found = try TraceSegment(opening: Self.path(newest, in: path), forWriting: true) {
            segment = found
            segments = (numbers.first ?? newest)...newest
            lastRow = found.lastRowBefore
            names = TraceNames()
            recover(found, log)
        } else {
            let next = numbers.isEmpty ? 1 : newest + 1
            let older = try numbers.dropLast().last.flatMap { number throws(StoreError) in
                try TraceSegment(opening: Self.path(number, in: path), forWriting: false)
            }
            lastRow = older?.lastRowBefore ?? QueueRow(0)
            names = TraceNames()
            segment = try TraceSegment(making: Self.path(next, in: path), lastRow: lastRow)
            segments = (numbers.first ?? next)...next
            if let older { _ = walkRows(of: older) }
        }
        removeOldest()
    }

    /// Appends records to the newest segment, or to a new one.
    public func append(_ records: [TraceRecord]) throws(StoreError) {
        try leaveRoom()
        var namesWritten = names.texts.count
        do throws(StoreError) {
            // The loop uses indices, because a loop over the elements would copy each.
            for place in records.indices {
                if segment.byteCount + encoder.bytes.count + TraceBytes.mostBytes > segmentBytes {
                    try write()
                    namesWritten = names.texts.count
                    try beginSegment()
                    namesWritten = 0
                }
                encoder.add(records[place], &names)
                lastRow = max(lastRow, records[place].row)
            }
            try write()
        } catch {
            encoder.removeAll()
            names.keep(namesWritten)
            throw error
        }
    }

    /// Visits at most `limit` records of one segment in order, and returns where to continue.
    public func visit(
        from position: TracePosition, limit: Int, _ visit: (TraceRecord) -> Void
    ) throws(StoreError) -> TracePosition {
        guard position.segment <= segments.upperBound else { return end }
        guard position.segment >= segments.lowerBound else {
            let oldest = TracePosition(segment: segments.lowerBound)
            return try self.visit(from: oldest, limit: limit, visit)
        }
        let isNewest = position.segment == segments.upperBound
        let next = isNewest ? end : TracePosition(segment: position.segment + 1)
        var file = segment
        if !isNewest {
            let path = Self.path(position.segment, in: path)
            guard let older = try TraceSegment(opening: path, forWriting: false) else { return next }
            file = older
        }
        // The names of the newest segment are known. In another segment they are read from before the position.
        let begin = max(position.offset, TraceBytes.headerBytes)
        let known = isNewest ? names : bookmark.flatMap { $0.position == position ? $0.names : nil }
        var decoder = TraceDecoder(known ?? TraceNames())
        var left = limit
        let stop = Self.walk(
            file, from: known == nil ? TraceBytes.headerBytes : begin, &decoder
        ) { record, offset in
            guard offset >= begin else { return true }
            guard left > 0 else { return false }
            left -= 1
            visit(record)
            return true
        }
        guard !stop.isOver else { return next }
        let position = TracePosition(segment: position.segment, offset: stop.offset)
        if !isNewest { bookmark = (position, decoder.names) }
        return position
    }

    /// Writes refusals over the oldest ones.
    public func append(_ refusals: [TraceRefusal]) throws(StoreError) {
        try leaveRoom()
        try self.refusals.append(refusals)
    }

    /// Visits the stored refusals, oldest first.
    public func visitRefusals(_ visit: (TraceRefusal) -> Void) { refusals.visit(visit) }

    /// Does nothing: records are already in the files, which are closed when the trace is released.
    public func close() {}

    // MARK: Segments

    private func write() throws(StoreError) {
        guard !encoder.bytes.isEmpty else { return }
        try segment.append(encoder.bytes)
        encoder.removeAll()
    }

    private func beginSegment() throws(StoreError) {
        let number = segments.upperBound + 1
        segment = try TraceSegment(making: Self.path(number, in: path), lastRow: lastRow)
        segments = segments.lowerBound...number
        names = TraceNames()
        removeOldest()
    }

    private func removeOldest() {
        while segments.count > mostSegments { removeFirst() }
    }

    private func removeFirst() {
        unsafe unlink(Self.path(segments.lowerBound, in: path))
        segments = segments.lowerBound + 1...segments.upperBound
    }

    /// Leaves scarce disk space to the notifications: removes the oldest segments, and throws if that does not free
    /// enough.
    private func leaveRoom() throws(StoreError) {
        while free() < Limits.traceLeastFree {
            guard segments.count > 1 else {
                throw StoreError(
                    .full,
                    "Less than \(Limits.traceLeastFree >> 20) MiB are left on the disk of \(path), and are "
                        + "kept for notifications: free space on it.")
            }
            removeFirst()
        }
    }

    /// Reads the names and rows of the newest segment, and cuts off a record that was not written completely.
    private func recover(_ segment: TraceSegment, _ log: Log) {
        let (end, names) = walkRows(of: segment)
        self.names = names
        guard end < segment.byteCount else { return }
        log.notice("the end of the trace was not written whole: \(segment.byteCount - end) bytes are cut")
        segment.cut(at: end)
    }

    /// Updates the highest row. Returns the end of the last complete record, and the names of the segment.
    private func walkRows(of segment: TraceSegment) -> (end: Int, names: TraceNames) {
        var decoder = TraceDecoder()
        let stop = Self.walk(segment, from: TraceBytes.headerBytes, &decoder) { record, _ in
            lastRow = max(lastRow, record.row)
            return true
        }
        return (stop.offset, decoder.names)
    }

    /// Visits the records of a segment from an offset for as long as `visit`, which gets the offset of each, returns
    /// true. Returns the offset after the last record, and whether it was the end of the segment.
    private static func walk(
        _ segment: TraceSegment, from start: Int, _ decoder: inout TraceDecoder,
        _ visit: (TraceRecord, Int) -> Bool
    ) -> (offset: Int, isOver: Bool) {
        var offset = start
        var chunk: [UInt8] = []
        while offset < segment.byteCount {
            segment.read(offset, chunkBytes, into: &chunk)
            let bytes = unsafe chunk.span.bytes
            var used = 0
            blocks: while used < bytes.byteCount {
                switch decoder.next(bytes.extracting(used..<bytes.byteCount)) {
                case .none: break blocks
                case .name(let count): used += count
                case .record(let record, let count):
                    guard visit(record, offset + used) else { return (offset + used, false) }
                    used += count
                }
            }
            guard used > 0 else { break }
            offset += used
        }
        return (offset, true)
    }

    private static func path(_ number: Int, in directory: String) -> String {
        let digits = String(number)
        return directory + "/" + String(repeating: "0", count: max(8 - digits.count, 0)) + digits + suffix
    }

    private static let suffix = ".segment"

    /// The numbers of the segments in a directory, in order.
    private static func numbers(in directory: String) -> [Int] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return files.compactMap { name in
            guard name.hasSuffix(suffix), let number = Int(name.dropLast(suffix.count)), number > 0,
                path(number, in: "") == "/" + name
            else { return nil }
            return number
        }.sorted()
    }
}
