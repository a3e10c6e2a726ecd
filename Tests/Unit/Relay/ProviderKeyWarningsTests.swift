import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("Warnings of provider keys that end")
struct ProviderKeyWarningsTests {
    private static let day: Int64 = 86_400_000

    private func key(endingIn days: Int64) -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: "ABC123DEFG", team: "T", publicKey: "", addedAt: Samples.now,
            endsAt: Samples.now.advanced(byMilliseconds: days * Self.day))
    }

    @Test("come once within two weeks, once within a day and once at the end, and anew for a later end")
    func stages() {
        let lines = LoggedLines()
        var warnings = ProviderKeyWarnings()
        func look(_ key: ProviderKeyRecord, after days: Int64) -> [String] {
            let count = lines.all.count
            for _ in 0..<2 {
                warnings.look(
                    at: [key], now: Samples.now.advanced(byMilliseconds: days * Self.day), lines.log)
            }
            return lines.all.dropFirst(count).map(\.text)
        }
        let key = key(endingIn: 20)
        #expect(look(key, after: 5).isEmpty)
        #expect(look(key, after: 6).map { $0.contains("ABC123DEFG of team T ends in 14 days") } == [true])
        #expect(look(key, after: 18).isEmpty)
        #expect(look(key, after: 19).map { $0.contains("ends in 1 days") } == [true])
        #expect(look(key, after: 20).map { $0.contains("has ended") } == [true])
        #expect(look(self.key(endingIn: 21), after: 20).map { $0.contains("ends in 1 days") } == [true])
    }
}
