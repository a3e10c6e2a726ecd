import PostriderNotifications
import Testing

extension StoreConformanceTests {
    @Test("The first token secret is added once", arguments: Engine.allCases)
    func firstTokenSecret(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        #expect(try fixture.store.firstTokenSecrets([1]) == [[1]])
        #expect(try fixture.store.firstTokenSecrets([2]) == [[1]])
        try fixture.store.apply([.addTokenSecret([3])])
        try fixture.reopen()
        #expect(try fixture.store.firstTokenSecrets([5]) == [[1], [3]])
    }
}
