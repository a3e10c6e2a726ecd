import PostriderCluster
import PostriderStorage

extension NodesWorld {
    /// Drains and ends the nodes one after the other, and starts each again, as an upgrade does, while providers push.
    /// Nothing fails, so every push gets 200.
    func upgrade() throws {
        for name in shards.keys.sorted() { try start(name) }
        try goOn { isEven }
        isCalm = true
        for name in shards.keys.sorted().shuffled(using: &random) where finding == nil {
            guard let node = fixture.nodes[name] else { continue }
            if draw(0...1) == 0 {
                node.drain()
                try goOn { fixture.database.placement.partitions(of: name).isEmpty }
            }
            node.leave()
            try goOn { node.end != nil }
            // The load balancer sends nothing there any more, and the others hear of the end.
            retiring = node
            for _ in 0..<30 { try live() }
            try goOn { pushes.allSatisfy { $0.attempt?.node !== node } }
            node.stop()
            try goOn { node.lines.open.isEmpty }
            node.kill(isHeard: true)
            try start(name)
            retiring = nil
            try goOn { isEven }
        }
        try goOn(pushing: false) { isAtRest }
        checkArrivals()
        checkConservation()
        checkReceipts()
        checkSubscriptions { for _ in 0..<30 { pass(30) { $0 } } }
        isCalm = false
    }

    private var isEven: Bool { nodes.allSatisfy { $0.servedCount == Self.partitions / 3 } }

    private func goOn(pushing: Bool = true, until isDone: () -> Bool) throws {
        var steps = 0
        while finding == nil, !isDone() {
            try live(pushing: pushing)
            steps += 1
            if steps == 1000 { report(.rest, "it takes too long: \(restlessness)") }
        }
    }

    private func live(pushing: Bool = true) throws {
        for _ in 0..<draw(0...2) where pushing { push() }
        if pushing, draw(0...2) == 0 { stepChannels(deleting: false) }
        for index in pushes.indices where pushes[index].attempt == nil { post(index) }
        for device in devices where draw(0...3) == 0 {
            try connect(device)
            device.acknowledge { $0 }
        }
        openLinks(1)
        pass(draw(5...40)) { self.draw(($0 + 1) / 2...$0) }
    }
}
