import PostriderCluster
import PostriderStorage

extension NodesWorld {
    /// Drains and ends the nodes one after the other, and starts each again, as an upgrade does, while providers push.
    /// Nothing fails, so every push gets 200.
    func upgrade() throws {
        for name in shards.keys.sorted() { try start(name) }
        goOn { isEven }
        isCalm = true
        for name in shards.keys.sorted().shuffled(using: &random) where finding == nil {
            guard let node = fixture.nodes[name] else { continue }
            if draw(0...1) == 0 {
                node.drain()
                goOn { fixture.database.placement.partitions(of: name).isEmpty }
            }
            node.leave()
            goOn { node.end != nil }
            // The load balancer sends nothing there any more, and the others hear of the end.
            retiring = node
            for _ in 0..<30 { live() }
            goOn { pushes.allSatisfy { $0.attempt?.node !== node } }
            node.kill(isHeard: true)
            try start(name)
            retiring = nil
            goOn { isEven }
        }
        isCalm = false
        goOn(pushing: false) { isAtRest }
        checkArrivals()
    }

    private var isEven: Bool { nodes.allSatisfy { $0.servedCount == Self.partitions / 3 } }

    private func goOn(pushing: Bool = true, until isDone: () -> Bool) {
        var steps = 0
        while finding == nil, !isDone() {
            live(pushing: pushing)
            steps += 1
            if steps == 1000 { report(.rest, "it takes too long") }
        }
    }

    private func live(pushing: Bool = true) {
        for _ in 0..<draw(0...2) where pushing { push() }
        for index in pushes.indices where pushes[index].attempt == nil { post(index) }
        for device in devices where draw(0...3) == 0 {
            device.connect(among: nodes)
            device.acknowledge { $0 }
        }
        openLinks(1)
        pass(draw(5...40)) { self.draw(($0 + 1) / 2...$0) }
    }
}
