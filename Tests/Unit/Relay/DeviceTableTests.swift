import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("Tables of a shard")
struct DeviceTableTests {
    @Test("The entries are those that a dictionary would keep, however their identities meet")
    func entries() {
        var random = SplitMix64(seed: 1)
        var table = DeviceTable()
        var model: [DeviceIdentity: DeviceEntry] = [:]
        for turn in 0..<4000 {
            // Few different words, far apart, so that many identities have the same place and the last places
            // overflow to the first.
            let identity = DeviceIdentity(
                high: UInt64.random(in: 0..<8, using: &random) * 1023,
                low: UInt32.random(in: 0..<20, using: &random))
            if turn % 1000 < 700, Bool.random(using: &random) {
                let entry = DeviceEntry(
                    DeviceRecord(identity: identity, secretDigest: [], name: "", enrolledAt: Samples.now))
                table[identity] = entry
                model[identity] = entry
            } else {
                table[identity] = nil
                model[identity] = nil
            }
            #expect(table.count == model.count && table[identity] === model[identity])
        }
        for (identity, entry) in model { #expect(table[identity] === entry) }
        #expect(Set(table.values.map(\.identity)) == Set(model.keys))
    }

    @Test(
        "Queued notifications come to their devices at once and in order; those of unknown devices come back"
    )
    func distributed() {
        var random = SplitMix64(seed: 2)
        var table = DeviceTable()
        let entries = (1...200).map { row in
            Samples.entry(
                row, of: DeviceIdentity(high: UInt64.random(in: 0..<6, using: &random) * 1023, low: 7))
        }
        #expect(table.distribute(entries) { _, _ in Issue.record("there are no entries") } == entries)
        let there = Set(entries.map(\.device)).filter { $0.high > 1023 }
        for identity in there.union([DeviceIdentity(high: 1023, low: 8)]) {
            table[identity] = DeviceEntry(
                DeviceRecord(identity: identity, secretDigest: [], name: "", enrolledAt: Samples.now))
        }
        var received: [DeviceIdentity: [QueueEntry]] = [:]
        let strays = table.distribute(entries) { entry, own in
            #expect(received.updateValue(own, forKey: entry.identity) == nil)
        }
        #expect(received.count == there.count && there.count > 2)
        for (identity, own) in received { #expect(own == entries.filter { $0.device == identity }) }
        #expect(!strays.isEmpty && strays == entries.filter { !there.contains($0.device) })
    }

    @Test("Numbers are found in their order, which is that of the table")
    func numbers() {
        var table = SortedTable<UInt64, String>()
        var model: [UInt64: String] = [:]
        for number in [5, 7, 9, 12, 3, 7, 8, 5] as [UInt64] {
            table[number] = "\(number) of \(model.count)"
            model[number] = "\(number) of \(model.count)"
        }
        for number in [9, 4, 3] as [UInt64] {
            table[number] = nil
            model[number] = nil
        }
        if let place = table.place(of: 7) { table.update(at: place) { $0 += "!" } }
        model[7]? += "!"
        for number in 0..<15 as Range<UInt64> { #expect(table[number] == model[number]) }
        #expect(table.place(of: 9) == nil)
        #expect(table.map(\.key) == model.keys.sorted())
    }
}
