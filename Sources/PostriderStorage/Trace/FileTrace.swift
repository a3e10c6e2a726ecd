import FoundationEssentials
import Glibc
public import PostriderNotifications

/// The trace in files of one directory, `00000001.segment` and so on: written to the end, never changed, the oldest
/// removed when there are too many. Nothing is synced: what was written last may be missing after a power cut, and is
/// cut off cleanly then. Refusals lie beside them in a file of their own, `refused`.
public final class FileTrace: TraceStore {
    private let path: String
    private let segmentBytes: Int
    private let mostSegments: Int
    private var segment: TraceSegment
    private var encoder = TraceEncoder()
    private var names: TraceNames
    private let refusals: RefusalRing
    /// Answers how many bytes the disk has left.
    private let free: () -> Int
    /// Where the last visit to an older segment stopped, and the names that come before it: whoever follows the trace
    /// goes on there.
    private var bookmark: (position: TracePosition, names: TraceNames)?

    /// The highest row that the trace tells of.
    public private(set) var lastRow: QueueRow
    /// The numbers of the segments, oldest first.
    public private(set) var segments: ClosedRange<Int>
    /// Where the next record will be.
    public var end: TracePosition { TracePosition(segment: segments.upperBound, offset: segment.byteCount) }

    /// Bytes that are read at once.
    private static let chunkBytes = 1 << 20

    /// Opens the trace in this directory, and makes it (mode 0700, files 0600) where there is none. A directory
    /// belongs to one trace at a time; the one above it is owned.
    public convenience init(directory: String, log: Log) throws(StoreError) {
        try self.init(
            directory: directory, log: log, segmentBytes: Limits.traceSegmentBytes,
            mostSegments: Limits.traceSegments, refusals: Limits.tracedRefusals)
    }

    /// Opens a trace of at most `mostSegments` segments of `segmentBytes` bytes, and so many refusals.
    ///
    /// - Parameter free: answers how many bytes the disk has left.
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

    /// Writes records down, at the end of the newest segment or in a new one.
    public func append(_ records: [TraceRecord]) throws(StoreError) {
        try leaveRoom()
        var namesWritten = names.texts.count
        do throws(StoreError) {
            // By their places: a loop over the array itself makes a copy of each.
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

    /// Visits at most `limit` records of one segment in their order, and answers where to go on.
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
        // The newest one's names are known; of another they come before the place where to begin.
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

    /// Writes refusals down, in the places of the oldest.
    public func append(_ refusals: [TraceRefusal]) throws(StoreError) {
        try leaveRoom()
        try self.refusals.append(refusals)
    }

    /// Visits the refusals that are kept, oldest first.
    public func visitRefusals(_ visit: (TraceRefusal) -> Void) { refusals.visit(visit) }

    /// Does nothing: what was written is in the files, which are closed with this.
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

    /// Leaves what little a disk has left to the notifications: the oldest segments go, and if that is not enough the
    /// trace does not grow.
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

    /// Takes on what the newest segment holds, and cuts off what was not written whole.
    private func recover(_ segment: TraceSegment, _ log: Log) {
        let (end, names) = walkRows(of: segment)
        self.names = names
        guard end < segment.byteCount else { return }
        log.notice("the end of the trace was not written whole: \(segment.byteCount - end) bytes are cut")
        segment.cut(at: end)
    }

    /// Takes note of the highest row. Answers where what was written whole ends, and its names.
    private func walkRows(of segment: TraceSegment) -> (end: Int, names: TraceNames) {
        var decoder = TraceDecoder()
        let stop = Self.walk(segment, from: TraceBytes.headerBytes, &decoder) { record, _ in
            lastRow = max(lastRow, record.row)
            return true
        }
        return (stop.offset, decoder.names)
    }

    /// Goes through the records of a segment from an offset as long as `visit`, which is told where each begins, wants
    /// more. Answers the offset behind the last, and whether there are no more.
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
