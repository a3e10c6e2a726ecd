import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The need of descriptors")
struct DescriptorNeedTests {
    @Test("counts the connections of callbacks, which are not left to devices")
    func callbacks() throws {
        let (without, with) = (
            DescriptorNeed.relay(shards: 2, addresses: 3),
            DescriptorNeed.relay(shards: 2, addresses: 3, callbacks: 16)
        )
        #expect(with.own == without.own + 16)
        let limit = without.own + without.least
        try without.check(limit)
        #expect(throws: CommandFailure.self) { try with.check(limit) }
    }
}
