import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

@Suite("The refused pushes of a trace")
struct RefusalTests {
    private static func refusal(_ number: Int64) throws -> TraceRefusal {
        let topic = try #require(Topic(String(repeating: "a", count: Int(number) * 6)))
        return TraceRefusal(
            Rejection.allCases[Int(number) % Rejection.allCases.count], at: Moment(milliseconds: number),
            of: number % 3 == 0 ? nil : NotificationIdentity(high: .max, low: UInt64(number)),
            topic: number % 4 == 0 ? nil : topic, in: number % 2 == 0 ? .production : .development,
            on: number << 48 | 7)
    }

    private static func kept(_ store: any TraceStore) throws -> [TraceRefusal] {
        var found: [TraceRefusal] = []
        try store.visitRefusals { found.append($0) }
        return found
    }

    private static func kept(_ ring: RefusalRing) -> [TraceRefusal] {
        var found: [TraceRefusal] = []
        ring.visit { found.append($0) }
        return found
    }

    @Test("are kept, the last so many, also when it is opened again", arguments: TraceEngine.allCases)
    func bounds(_ engine: TraceEngine) throws {
        let trace = try TraceStoreTests.Trace(engine)
        let all = try (1...42).map(Self.refusal)
        for number in all.indices {
            try trace.store.append([all[number]])
            #expect(try Self.kept(trace.store) == all[...number].suffix(5))
            if number % 4 == 0 { try trace.reopen() }
        }
        #expect(trace.store.lastRow == QueueRow(0) && trace.store.segments.count == 1)
    }

    @Test("lose one that was not written whole, and no other")
    func torn() throws {
        let scratch = Scratch()
        let path = scratch.path + "/refused"
        let refusals = try (1...4).map(Self.refusal)
        try RefusalRing(path: path, places: 5).append(refusals)
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: 384 * 3 + 10)
        file.write(Data([1, 2, 3]))
        try file.truncate(atOffset: 384 * 4 + 100)
        let ring = try RefusalRing(path: path, places: 5)
        #expect(Self.kept(ring) == Array(refusals[..<2]))
        try ring.append([refusals[0]])
        #expect(Self.kept(ring) == Array(refusals[..<2]) + [refusals[0]])
        #expect(try Scratch.permissions(path) == 0o600)
    }

    @Test("have room for the longest of everything")
    func longest() throws {
        let topic = try #require(Topic(String(repeating: "t", count: Limits.topicBytes)))
        let scratch = Scratch()
        let ring = try RefusalRing(path: scratch.path + "/refused", places: 100)
        let refusals = Rejection.allCases.map {
            TraceRefusal($0, at: Moment(milliseconds: 1), of: nil, topic: topic, in: .production, on: 1)
        }
        try ring.append(refusals)
        #expect(Self.kept(ring) == refusals)
    }
}

/// The places of a trace.
enum TraceEngine: CaseIterable, CustomTestStringConvertible {
    case memory, file
    var testDescription: String { self == .memory ? "MemoryTrace" : "FileTrace" }
}
