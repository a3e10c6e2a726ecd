import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

@Suite("A trace, in memory and in files")
struct TraceStoreTests {
    /// A trace of one engine, which can be opened again.
    final class Trace {
        let scratch = Scratch()
        let disk = MemoryTrace.Disk()
        let engine: TraceEngine
        private(set) var store: any TraceStore
        var folder: String { scratch.path + "/trace" }

        init(_ engine: TraceEngine) throws {
            self.engine = engine
            store = MemoryTrace()
            try reopen()
        }

        func reopen() throws {
            store =
                switch engine {
                case .memory: MemoryTrace(disk: disk, segmentRecords: 8, mostSegments: 3, mostRefusals: 5)
                case .file: try Self.file(folder)
                }
        }

        static func file(_ path: String) throws -> FileTrace {
            try FileTrace(directory: path, log: .none, segmentBytes: 1700, mostSegments: 3, refusals: 5)
        }
    }

    static func acceptance(_ number: Int64) throws -> TraceRecord {
        let sample = try sample(number, collapse: number % 2 == 0 ? "c" : nil)
        let it = sample.notification
        return .acceptance(
            TraceAcceptance(
                row: sample.row, moment: it.acceptedAt, identity: it.identity,
                uniqueIdentity: number % 3 == 0 ? NotificationIdentity(high: 1, low: UInt64(number)) : nil,
                target: number % 5 == 4
                    ? .channel(ChannelIdentity(high: 5, low: UInt64(number)), .development)
                    : .device(it.device, it.registration),
                topic: it.topic,
                pushType: number % 4 == 0 ? nil : .voip, priority: it.priority,
                expiration: number % 5 == 0 ? .nowOrNever : it.expiration,
                collapses: number % 2 == 0, payloadBytes: Int(number) * 7,
                payloadDigest: number % 3 == 1
                    ? nil : PayloadDigest(words: SIMD4(UInt64(number), .max, 1, 0x0102_0304_0506_0708)),
                proof: [nil, .certificate, .key("KEY\(number % 2)")][Int(number % 3)]))
    }

    static func report(_ number: Int64) -> TraceRecord {
        let kind: TraceEvent.Kind = [.handedOver, .shown, .actedOn, .merged][Int(number % 4)]
        return .report(
            TraceReport(
                kind, at: Moment(milliseconds: number),
                onDevice: Moment(milliseconds: kind == .merged ? number : -number),
                of: NotificationIdentity(high: .max, low: UInt64(number)), row: QueueRow(number * 3),
                other: QueueRow(kind == .merged ? number * 2 : 0),
                by: DeviceIdentity(high: UInt64(number), low: .max)))
    }

    static func event(_ row: Int64, _ kind: TraceEvent.Kind = .sent) -> TraceRecord {
        .event(
            TraceEvent(
                kind, at: Moment(milliseconds: 1_700_000_000_000 + row), row: QueueRow(row),
                detail: TraceEvent.connection(UInt64(row) << 40 | 3, ofShard: 255)))
    }

    /// Returns all records, segment by segment.
    private static func records(_ store: any TraceStore) throws -> [TraceRecord] {
        var records: [TraceRecord] = []
        for segment in store.segments {
            _ = try store.visit(from: TracePosition(segment: segment), limit: .max) { records.append($0) }
        }
        return records
    }

    @Test(
        "gives back every field of what was written, also when it is opened again",
        arguments: TraceEngine.allCases
    )
    func fields(_ engine: TraceEngine) throws {
        let trace = try Trace(engine)
        let written = try (1...6).flatMap { try [Self.acceptance($0), Self.event($0), Self.report($0)] }
        try trace.store.append(written)
        #expect(try Self.records(trace.store) == written)
        try trace.reopen()
        #expect(try Self.records(trace.store) == written && trace.store.lastRow == QueueRow(6))
        try trace.store.append([Self.acceptance(7)])
        #expect(try Self.records(trace.store) == written + [try Self.acceptance(7)])
        #expect(Self.event(9).row == QueueRow(9))
    }

    @Test(
        "is bounded: the oldest segments go, and what is left is the end of it",
        arguments: TraceEngine.allCases)
    func bounds(_ engine: TraceEngine) throws {
        let trace = try Trace(engine)
        var written: [TraceRecord] = []
        for row in 1...100 as ClosedRange<Int64> {
            let some = try [Self.acceptance(row), Self.event(row)]
            try trace.store.append(some)
            written += some
            if row % 10 == 0 { try trace.reopen() }
        }
        let left = try Self.records(trace.store)
        #expect(trace.store.segments.count == 3 && trace.store.segments.lowerBound > 1)
        #expect(left.count > 10 && left == written.suffix(left.count))
        if engine == .file {
            let files = try FileManager.default.contentsOfDirectory(atPath: trace.folder)
            #expect(files.count == 4 && files.contains("refused"))
            for file in files {
                #expect(try Scratch.size(trace.folder + "/" + file) <= 1500 || file == "refused")
                #expect(try Scratch.permissions(trace.folder + "/" + file) == 0o600)
            }
            #expect(try Scratch.permissions(trace.folder) == 0o700)
        }
    }

    @Test("is followed from where one has come to, some at a time", arguments: TraceEngine.allCases)
    func following(_ engine: TraceEngine) throws {
        let trace = try Trace(engine)
        var (position, seen, written) = (trace.store.end, [TraceRecord](), [TraceRecord]())
        for row in 1...20 as ClosedRange<Int64> {
            let some = try [Self.acceptance(row), Self.event(row)]
            try trace.store.append(some)
            written += some
            for _ in 0..<3 { position = try trace.store.visit(from: position, limit: 1) { seen.append($0) } }
        }
        while position != trace.store.end {
            position = try trace.store.visit(from: position, limit: 5) { seen.append($0) }
        }
        #expect(seen == written)
        for _ in 0..<3 {
            for row in 21...50 as ClosedRange<Int64> { try trace.store.append([Self.event(row)]) }
        }
        var first: TraceRecord?
        _ = try trace.store.visit(from: position, limit: 1) { first = $0 }
        #expect(try first == Self.records(trace.store).first, "what has gone is left out")
        let future = TracePosition(segment: 1000, offset: 7)
        #expect(try trace.store.visit(from: future, limit: 1) { _ in Issue.record() } == trace.store.end)
    }

    @Test("is followed by several at once, each from where it has come to", arguments: TraceEngine.allCases)
    func followers(_ engine: TraceEngine) throws {
        let trace = try Trace(engine)
        for row in 1...40 as ClosedRange<Int64> {
            try trace.store.append([Self.acceptance(row), Self.event(row)])
        }
        let oldest = TracePosition(segment: trace.store.segments.lowerBound)
        var readers = [1, 3, 3].map { (limit: $0, position: oldest, seen: [TraceRecord]()) }
        for index in readers.indices.reversed() + Array(repeating: readers.indices, count: 100).joined() {
            readers[index].position = try trace.store.visit(
                from: readers[index].position, limit: readers[index].limit
            ) { readers[index].seen.append($0) }
        }
        let written = try Self.records(trace.store)
        #expect(trace.store.segments.count == 3 && readers.allSatisfy { $0.seen == written })
    }

    @Test(
        "goes on after its highest row, even if the segment that told of it has gone",
        arguments: TraceEngine.allCases)
    func rows(_ engine: TraceEngine) throws {
        let trace = try Trace(engine)
        #expect(trace.store.lastRow == QueueRow(0))
        try trace.store.append([Self.event(1000)])
        for _ in 0..<200 { try trace.store.append([Self.event(3)]) }
        try trace.reopen()
        #expect(trace.store.lastRow == QueueRow(1000))
        #expect(try !Self.records(trace.store).contains(Self.event(1000)))
    }

    @Test(
        "leaves a disk that has little left to others: its oldest segments go, then it does not grow",
        .bug(id: "R3"))
    func littleLeft() throws {
        let scratch = Scratch()
        let folder = scratch.path + "/trace"
        let count = {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.count { $0.hasSuffix(".segment") }
        }
        var most = Int.max
        let trace = try FileTrace(
            directory: folder, log: .none, segmentBytes: 1500, mostSegments: 3, refusals: 5,
            free: { count() > most ? Limits.traceLeastFree - 1 : Limits.traceLeastFree })
        while count() < 3 { try trace.append([Self.event(1)]) }
        most = 2
        try trace.append([Self.event(2)])
        #expect(count() == 2 && trace.segments.count == 2)
        most = 0
        let end = trace.end
        let failure = try #require(throws: StoreError.self) { try trace.append([Self.event(3)]) }
        #expect(failure.kind == .full && failure.description.contains("Less than 8 MiB are left"))
        #expect(count() == 1 && trace.end == end)
        most = 1
        try trace.append([Self.event(4)])
        #expect(try Self.records(trace).last == Self.event(4))
        #expect(trace.lastRow == QueueRow(4))
    }

    @Test("is cut where its end was not written whole, and goes on there")
    func tornTail() throws {
        let trace = try Trace(.file)
        let written = try [Self.acceptance(1), Self.event(1), Self.acceptance(2), Self.event(2)]
        try trace.store.append(written)
        let file = trace.folder + "/00000001.segment"
        let whole = try Data(contentsOf: URL(filePath: file))
        for length in 0...whole.count {
            try whole.prefix(length).write(to: URL(filePath: file))
            for name in try FileManager.default.contentsOfDirectory(atPath: trace.folder)
            where name != "00000001.segment" {
                try FileManager.default.removeItem(atPath: trace.folder + "/" + name)
            }
            let torn = try Trace.file(trace.folder)
            let left = try Self.records(torn)
            #expect(left == Array(written.prefix(left.count)), "cut at \(length)")
            #expect(left.count == written.count || length < whole.count, "cut at \(length)")
            try torn.append([Self.event(3)])
            #expect(try Self.records(torn) == left + [Self.event(3)], "cut at \(length)")
        }
    }

    @Test(
        "is cut before what the disk has not kept: zeros, or other bytes",
        arguments: [0, 0xFF, 0x5A] as [UInt8])
    func damage(_ byte: UInt8) throws {
        let trace = try Trace(.file)
        let written = try [Self.acceptance(1), Self.event(1), Self.acceptance(2), Self.event(2)]
        try trace.store.append(written)
        let file = URL(filePath: trace.folder + "/00000001.segment")
        let whole = try Data(contentsOf: file)
        for place in stride(from: 32, to: whole.count, by: 16) {
            var data = whole
            data.replaceSubrange(place..<place + 16, with: repeatElement(byte, count: 16))
            guard data != whole else { continue }
            try data.write(to: file)
            let damaged = try Trace.file(trace.folder)
            let left = try Self.records(damaged)
            #expect(left.count < written.count && left == Array(written.prefix(left.count)))
        }
    }

    @Test("leaves files alone that are not its own, and begins anew behind a segment of another version")
    func strangers() throws {
        let trace = try Trace(.file)
        try trace.store.append([Self.event(1)])
        try "a letter".write(toFile: trace.folder + "/README", atomically: false, encoding: .utf8)
        try "another version".write(
            toFile: trace.folder + "/00000002.segment", atomically: false, encoding: .utf8)
        let next = try Trace.file(trace.folder)
        try next.append([Self.event(2)])
        #expect(next.segments == 1...3)
        #expect(try Self.records(next) == [Self.event(1), Self.event(2)])
        #expect(next.lastRow == QueueRow(2))
        #expect(try String(contentsOfFile: trace.folder + "/README", encoding: .utf8) == "a letter")
    }

    @Test("holds the longest names")
    func longNames() throws {
        let trace = try Trace(.file)
        let topic = try #require(Topic(String(repeating: "t", count: Limits.topicBytes)))
        let push = TraceAcceptance(
            row: QueueRow(1), moment: Moment(milliseconds: 1),
            identity: NotificationIdentity(high: 1, low: 2),
            uniqueIdentity: nil,
            target: .device(DeviceIdentity(high: 3, low: 4), RegistrationNumber(1, in: .development)),
            topic: topic, pushType: .alert,
            priority: .low, expiration: .nowOrNever, collapses: false, payloadBytes: 5120,
            payloadDigest: PayloadDigest(words: SIMD4(repeating: .max)),
            proof: .key(String(repeating: "k", count: Limits.keyIdentifierBytes)))
        try trace.store.append([.acceptance(push)])
        #expect(try Self.records(trace.store) == [.acceptance(push)])
    }
}
