import PostriderCluster
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

extension NodesWorld {
    /// Lets things happen for some seconds, then ends all faults and waits until everything is at rest.
    func run(steps: Int = 300) throws {
        for name in shards.keys.sorted() { try start(name) }
        for _ in 0..<steps where finding == nil {
            for _ in 0..<draw(1...3) { try happen() }
            openLinks(6)
            // Sometimes all that waits, and otherwise a portion, which may be nothing.
            let isQuick = draw(0...2) == 0
            pass(draw(1...60)) { isQuick ? $0 : self.draw(0...$0) }
        }
        if finding == nil { try rest() }
    }

    private func happen() throws {
        guard let device = one(of: devices), let node = one(of: nodes) else { return }
        switch draw(0...99) {
        case 0..<30: push()
        case 30..<40: if !pushes.isEmpty { post(draw(0...pushes.count - 1)) }
        case 40..<55: try connect(device)
        case 55..<75: device.acknowledge { self.draw(0...$0) }
        case 75..<79: device.leave(isAbrupt: draw(0...1) == 0)
        case 79..<81: trouble(node)
        case 81..<83: disturbLink(of: node)
        case 83: fixture.clock.shiftMilliseconds = Int64(draw(-100_000...100_000))
        case 84..<92: stepChannels()
        default: break
        }
        for node in nodes where node.end != nil && node.isAwake && draw(0...9) == 0 { kill(node) }
        for node in nodes where !node.isAlive && draw(0...39) == 0 { try start(node.name) }
    }

    private func trouble(_ node: FixtureNode) {
        guard node.isAwake else { return }
        let time = draw(0...1) == 0 ? draw(1...400) : draw(1500...3000)
        switch draw(0...9) {
        case 0, 1: kill(node)
        case 2, 3, 4:
            // What it has taken just before waits, and comes too late if others have its partitions by then.
            for _ in 0..<4 { push(at: node) }
            node.pause()
            after(time) { node.wake() }
        case 5, 6:
            node.isCut = true
            after(time) { node.isCut = false }
        case 7:
            node.isDeaf = true
            after(time) { node.isDeaf = false }
        case 8: node.leave()
        default: node.drain()
        }
        if draw(0...1) == 0 { keepBusy(node) }
    }

    /// One of the node's shards has much to do, so that what is posted to it waits.
    private func keepBusy(_ node: FixtureNode) {
        node.busy = (
            draw(0...node.shards.count - 1), fixture.clock.now + UInt64(draw(1...1500)) * 1_000_000
        )
    }

    /// Holds up what comes over a link, or cuts it: then each end hears of it at its own time.
    private func disturbLink(of node: FixtureNode) {
        guard let link = one(of: node.openLinks), let other = node.peer(over: link) else { return }
        guard draw(0...1) == 0 else {
            return node.hold(link, until: fixture.clock.now + UInt64(draw(1...500)) * 1_000_000)
        }
        node.hold(link, until: .max)
        let isAtOnce = draw(0...2) == 0
        for end in [node, other] {
            after(isAtOnce ? 0 : draw(1...1500)) { end.whenAwake { end.dropLink(link) } }
        }
    }

    // MARK: The end

    private func rest() throws {
        for node in nodes {
            node.wake()
            (node.isCut, node.isDeaf) = (false, false)
            node.busy = (0, 0)
            // A node that drains would rest without partitions, so it begins anew.
            if draw(0...2) == 0 || !node.isAlive || node.end != nil || node.isLeaving {
                kill(node)
                try start(node.name)
            }
        }
        try becomeQuiet()
        guard finding == nil else { return }
        for device in devices { device.leave(isAbrupt: draw(0...1) == 0) }
        try becomeQuiet()
        checkStored()
        checkReceipts()
        // Now each device hears its home.
        for index in devices.indices { push(to: index) }
        try checkSubscriptions {
            try becomeQuiet()
            for _ in 0..<20 { pass(30) { $0 } }
        }
    }

    /// Waits until everything is at rest.
    private func becomeQuiet() throws {
        for _ in 0..<600 where finding == nil && !isAtRest {
            openLinks(2)
            for index in pushes.indices { post(index) }
            for device in devices {
                try connect(device)
                device.acknowledge { $0 }
            }
            for node in nodes where node.end != nil {
                kill(node)
                try start(node.name)
            }
            pass(50) { $0 }
        }
        guard finding == nil else { return }
        checkArrivals()
        if !isAtRest { report(.rest, restlessness) }
    }
}
