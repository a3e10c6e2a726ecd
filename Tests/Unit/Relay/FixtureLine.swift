import PostriderCluster
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport

@testable import PostriderDeviceQueue
@testable import PostriderRelay

/// A node's end of a device's connection. What either end sends is under way until the other one takes it.
final class FixtureLine: ConnectionOutput {
    let peer = Peer(address: "test")
    let isBlocked = false
    /// The shard that has the connection; nil while it moves to another one.
    fileprivate(set) var shard: Int?
    fileprivate let handler: HTTP2Handler
    private var isDirty = false
    /// Why the node closes the connection; nil if it does not.
    private var closing: CloseReason?
    /// Whether this end is closed. What was sent before may still be under way.
    private(set) var isClosed = false
    /// Whether the device's end is closed, and whether that was without a word.
    private var gone: (isAbrupt: Bool, isNoted: Bool)?
    private var toNode: [[UInt8]] = []
    private var toDevice: [[UInt8]] = []

    fileprivate init(_ handler: HTTP2Handler, at shard: Int) {
        self.handler = handler
        self.shard = shard
    }

    // MARK: What the session does

    func setNeedsFlush() { isDirty = true }

    func close(_ reason: CloseReason) {
        if closing == nil { closing = reason }
        isDirty = true
    }

    func abort(_ reason: CloseReason) {
        if closing == nil { closing = reason }
        isDirty = false
    }

    fileprivate var canMove: Bool { closing == nil && !isClosed }

    // MARK: What the device does

    /// Sends bytes to the node.
    func send(_ bytes: [UInt8]) { if gone == nil, !bytes.isEmpty { toNode.append(bytes) } }

    /// Removes and returns some of what has arrived at the device.
    func take(_ portion: (Int) -> Int) -> [[UInt8]] { FixtureNode.take(&toDevice, portion) }

    /// Whether the device hears nothing more.
    var isOver: Bool { isClosed && toDevice.isEmpty }

    /// Closes the device's end: in order, or so that the node may lose what the device has sent before.
    func hangUp(isAbrupt: Bool) { if gone == nil { gone = (isAbrupt, false) } }

    // MARK: What the node does

    /// Gives the session what has arrived. Returns whether anything has.
    fileprivate func receive(_ portion: (Int) -> Int) -> Bool {
        guard closing == nil, !isClosed else { return false }
        let some = FixtureNode.take(&toNode, portion)
        for bytes in some where closing == nil { handler.received(bytes.span) }
        guard let gone, !gone.isNoted, toNode.isEmpty || gone.isAbrupt else { return !some.isEmpty }
        self.gone = (gone.isAbrupt, true)
        if gone.isAbrupt { abort(.peerReset) } else { handler.inputEnded() }
        return true
    }

    /// Sends what the session has to say. Returns whether there was anything.
    fileprivate func flush() -> Bool {
        guard !isClosed, isDirty || closing != nil else { return false }
        var bytes: [UInt8] = []
        while isDirty {
            isDirty = false
            handler.flush(into: &bytes)
        }
        if gone == nil, !bytes.isEmpty { toDevice.append(bytes) }
        guard let closing else { return true }
        isClosed = true
        handler.closed(closing)
        return true
    }
}

/// The connections of devices that one node has.
struct FixtureLines {
    private(set) var open: [FixtureLine] = []
    private var moving: [UInt64: FixtureLine] = [:]
    private var lastNumber: UInt64 = 0

    fileprivate mutating func add(_ line: FixtureLine) { open.append(line) }

    fileprivate mutating func detach(_ line: FixtureLine) -> UInt64? {
        guard line.canMove else { return nil }
        line.shard = nil
        lastNumber += 1
        moving[lastNumber] = line
        return lastNumber
    }

    fileprivate mutating func adopt(_ number: UInt64, by shard: Int) -> HTTP2Handler? {
        guard let line = moving.removeValue(forKey: number) else { return nil }
        line.shard = shard
        return line.handler
    }

    fileprivate mutating func dropClosed() { open.removeAll(where: \.isClosed) }
}

// Devices that are connected to a node.
extension FixtureNode {
    /// A device connects to a shard.
    func accept(at shard: Int) -> FixtureLine {
        let session = DeviceSession(among: shards[shard].devices)
        let line = FixtureLine(session.endpoint, at: shard)
        lines.add(line)
        session.endpoint.opened(on: line)
        return line
    }

    /// Moves connections between the shards of the node.
    func makeMigrator(of shard: Int) -> ConnectionMigrator {
        ConnectionMigrator(
            detach: { [unowned self] in ($0 as? FixtureLine).flatMap { lines.detach($0) } },
            adopt: { [unowned self] in lines.adopt($0, by: shard) })
    }

    /// One turn of a shard, which handles some of what has arrived. Returns whether anything has.
    func turn(ofShard index: Int, _ portion: (Int) -> Int) -> Bool {
        let others = shards[index].home.entries.values.filter { !maySpeak(to: $0.identity) }
            .map { FixtureStranger($0) }
        var isBusy = false
        for line in lines.open where line.shard == index { isBusy = line.receive(portion) || isBusy }
        var messages = Self.take(&mail[index], portion)
        isBusy = isBusy || !messages.isEmpty
        shards[index].receive(&messages)
        shards[index].turnEnded()
        for line in lines.open where line.shard == index { isBusy = line.flush() || isBusy }
        lines.dropClosed()
        for other in others {
            if let sentence = other.change { note(.homes, "\(name) \(sentence), which it does not serve") }
        }
        return isBusy
    }

    /// Whether the node may let a device in, and send it anything: the database says so, and the lease is not over.
    func maySpeak(to device: DeviceIdentity) -> Bool {
        fixture.owner(of: device) == name && serving.includes(fixture.clock.now)
    }

    func note(_ checker: NodesWorld.Checker, _ text: String) {
        if fixture.flaw == nil { fixture.flaw = NodesWorld.Finding(checker: checker, description: text) }
    }
}

/// What a shard has sent to a device that it does not serve, before a turn.
private struct FixtureStranger {
    let entry: DeviceEntry
    let session: (any HomeSession)?
    let next: UInt64?

    init(_ entry: DeviceEntry) {
        self.entry = entry
        session = entry.session
        next = entry.device.link?.window.next
    }

    /// What the shard has done since then that it must not do.
    var change: String? {
        guard let now = entry.session else { return nil }
        guard now === session else { return "lets device \(entry.identity) in" }
        let last = entry.device.link?.window.next ?? 1
        return last > next ?? 1 ? "sends to device \(entry.identity)" : nil
    }
}
