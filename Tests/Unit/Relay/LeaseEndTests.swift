import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("A node whose lease is over, although its shards have not been told")
struct LeaseEndTests {
    private let fixture = NodesFixture()
    private let device: NodesWorldDevice

    init() { device = NodesWorldDevice(fixture.devices[0]) }

    /// A node that serves all devices.
    private func node() throws -> FixtureNode {
        let node = try fixture.start("a")
        fixture.wait(milliseconds: 1_000)
        return node
    }

    /// The database does not answer any more, and time passes in which no thread of the node runs.
    private func end(_ node: FixtureNode) {
        node.isCut = true
        fixture.clock.advance(byMilliseconds: 1_500)
    }

    private func exchange() {
        for _ in 0..<6 {
            fixture.settle()
            #expect(device.listen(at: fixture.clock.now) { $0 } == nil)
        }
    }

    @Test("lets no device in")
    func greeting() throws {
        let node = try node()
        end(node)
        try device.connect(to: node, at: 0)
        exchange()
        #expect(device.welcomes == 0 && device.goodbye?.reason == .overloaded)
        #expect(device.goodbye?.detail.contains("no node serves the device") == true)
    }

    @Test("sends nothing more to connected devices, and goes on when the database has answered")
    func deliveries() throws {
        let node = try node()
        for number in 1...Limits.deliveryWindow + 5 { node.push(Int32(number), to: device.identity) }
        try device.connect(to: node, at: 1)
        exchange()
        #expect(device.arrived.count == Limits.deliveryWindow)
        end(node)
        device.acknowledge { $0 }
        exchange()
        #expect(device.arrived.count == Limits.deliveryWindow && device.goodbyes == 0)
        node.isCut = false
        fixture.wait(milliseconds: 1_000)
        exchange()
        #expect(device.arrived.count == Limits.deliveryWindow + 5 && device.goodbyes == 0)
    }
}
