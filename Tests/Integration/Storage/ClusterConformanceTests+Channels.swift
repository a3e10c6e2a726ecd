import PostriderCluster
import PostriderNotifications
import Testing

extension ClusterConformanceTests {
    @Test(
        "Channels are loaded with the partition of their app, and their changes concern no other node",
        arguments: Engine.fenced)
    func channels(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let topic = try #require(Topic("com.example.app"))
        let owners = [Environment.production, .development].map {
            ChannelOwner(topic: topic, environment: $0)
        }
        let partitions = owners.map(Partition.init(of:))
        #expect(partitions[0] != partitions[1])
        let node = try fixture.member("a", claiming: partitions.map(\.number))
        let ledger = try fixture.ledger(of: node)
        let records = owners.enumerated().map { index, owner in
            ChannelRecord(
                identity: ChannelIdentity(high: 1, low: UInt64(index)), owner: owner, storage: .mostRecent,
                createdAt: Moment(milliseconds: 1))
        }
        let broadcasts = records.map { record in
            Broadcast(
                identity: NotificationIdentity(high: 2, low: record.identity.low), channel: record.identity,
                topic: topic, payload: [0x7B, 0x7D], priority: .immediate,
                expiration: .at(Moment(milliseconds: 9_000)), pushType: .alert,
                acceptedAt: Moment(milliseconds: 1))
        }
        try ledger.apply(records.map(RegistryChange.putChannel) + broadcasts.map(RegistryChange.putBroadcast))
        #expect(try node.look().registryVersion == 0 && ledger.loadRegistry() == Registry())
        for index in 0...1 {
            let loaded = try ledger.load([partitions[index]]) { _ in }
            #expect(loaded.channels == [records[index]])
            #expect(loaded.broadcasts.map(\.identity) == [broadcasts[index].identity])
        }
        let both = try ledger.load(Set(partitions)) { _ in }
        #expect(both.channels.count == 2 && both.broadcasts.count == 2)
    }
}
