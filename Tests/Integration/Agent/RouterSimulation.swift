import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage
import Testing

@testable import PostriderAgent

/// A simulation of a router with two topics: apps attach, handle, fail and leave; the relay sends unacknowledged
/// notifications again; the disk sometimes refuses writes; the agent is killed. It checks every result of that.
final class RouterSimulation {
    private static let topics = [RecordedApp.topic, "com.example.two"]

    private let fixture: RouterFixture
    private var dice: SplitMix64
    private var streams: [Stream] = []
    /// The topic of each notification, by identity.
    private var topics: [UInt64: String] = [:]
    /// The collapse identifiers, by the identity of the notification.
    private var collapses: [UInt64: String] = [:]
    /// The notifications without an acknowledgement, in the relay's order.
    private var unacknowledged: [UInt64] = []
    /// The identity of each delivery on the link, from number 1 on.
    private var deliveries: [UInt64] = []
    /// The notifications that have arrived and are not durable.
    private var arrived: [UInt64] = []
    /// The durable notifications, in the order in which they became durable.
    private var stored: [UInt64] = []
    /// The notifications that apps have handled, each with whether that is durable.
    private var handled: [UInt64: Bool] = [:]
    /// The most times that apps can have failed at each notification.
    private var failures: [UInt64: Int] = [:]
    /// The time in nanoseconds until which a notification is not delivered again.
    private var rests: [UInt64: UInt64] = [:]
    private var isFull = false

    /// An app at the router.
    private final class Stream {
        let app = RecordedApp()
        var topics: [String] = []
        /// The number of messages to the app that this simulation has read.
        var heard = 0
        /// The identity of each delivery to the app that it has not handled.
        var underWay: [UInt64: UInt64] = [:]
    }

    init(seed: UInt64) throws {
        fixture = try RouterFixture()
        dice = SplitMix64(seed: seed)
        for topic in Self.topics { attach([topic]) }
    }

    private func once(in count: Int) -> Bool { Int.random(in: 0..<count, using: &dice) == 0 }

    // MARK: What happens

    func step() throws {
        switch Int.random(in: 0..<20, using: &dice) {
        case 0...4: push()
        case 5: if let known = stored.randomElement(using: &dice) { arrive(known) }
        case 6: attach(once(in: 3) ? Self.topics : [once(in: 2) ? Self.topics[0] : Self.topics[1]])
        case 7...10: handle()
        case 11, 12: fail()
        case 13: leave()
        case 14: changeDisk()
        case 15: pass(milliseconds: Int64.random(in: 1...20_000, using: &dice))
        case 16: if once(in: 2) { try kill() }
        case 17: if once(in: 4) { try retryDeadLetter() }
        default: try endTurn()
        }
        heed()
    }

    private func endTurn() throws {
        fixture.router.endTurn()
        heed()
        if !isFull, fixture.deliveries.redelivery.isEmpty { checkRest(dead: try dead) }
    }

    /// Ends the simulation: faults stop, the newest apps get all messages, the agent is killed, and an app handles
    /// the rest.
    func finish() throws {
        if isFull { changeDisk() }
        // Failures count only once they are durable.
        fixture.router.endTurn()
        pass(milliseconds: 1_000_000)
        try endTurn()
        try kill()
        fixture.router.endTurn()
        heed()
        let dead = try dead
        for identity in dead {
            #expect(
                failures[identity] ?? 0 >= Limits.deliveryAttempts.usual, "\(identity) is given up too early")
        }
        attach(Self.topics)
        let last = streams[streams.count - 1]
        fixture.router.endTurn()
        heed()
        for topic in Self.topics {
            let due = stored.filter { topics[$0] == topic && handled[$0] == nil && !dead.contains($0) }
            let told = last.app.delivered.filter { $0.topic == topic }.map(\.identity.low)
            #expect(told == Array(due.prefix(told.count)), "what is left comes in the order in which it came")
        }
        while !last.underWay.isEmpty {
            settle(last, Array(last.underWay.keys).sorted())
            fixture.router.endTurn()
            heed()
        }
        #expect(unacknowledged.isEmpty && stored.allSatisfy { handled[$0] == true || dead.contains($0) })
    }

    private var dead: Set<UInt64> {
        get throws { Set(try fixture.files.state.deadLetters.entries().map(\.parcel.identity.low)) }
    }

    /// Checks that all waiting notifications of an attached app are in delivery, but for those beyond its window.
    private func checkRest(dead: Set<UInt64>) {
        for topic in Self.topics {
            guard
                let newest = streams.last(where: {
                    $0.app.stream === fixture.streams.attachments[topic]?.streams.last
                }),
                newest.app.stream.hasRoom
            else { continue }
            let told = Set(newest.underWay.values)
            let due = stored.filter { topics[$0] == topic && handled[$0] == nil && !dead.contains($0) }
            #expect(told.isSuperset(of: due), "an app that is there is not told")
        }
    }

    private func push() {
        let identity = UInt64(topics.count + 1)
        topics[identity] = once(in: 2) ? Self.topics[0] : Self.topics[1]
        if once(in: 4) { collapses[identity] = once(in: 2) ? "a" : "b" }
        unacknowledged.append(identity)
        arrive(identity)
    }

    private func arrive(_ identity: UInt64) {
        deliveries.append(identity)
        if !stored.contains(identity), !arrived.contains(identity) { arrived.append(identity) }
        fixture.arrive(identity, topic: topics[identity] ?? "", collapse: collapses[identity])
    }

    private func attach(_ wanted: [String]) {
        let stream = Stream()
        for topic in wanted { fixture.registrations.register(topic, for: stream.app.stream) }
        stream.topics = wanted.filter { fixture.streams.attachments[$0]?.streams.last === stream.app.stream }
        if !stream.topics.isEmpty { streams.append(stream) }
    }

    private func handle() {
        guard let stream = streams.randomElement(using: &dice), !stream.underWay.isEmpty else { return }
        let numbers = stream.underWay.keys.sorted().prefix(Int.random(in: 1...4, using: &dice))
        settle(stream, once(in: 3) ? [numbers[numbers.count - 1]] : Array(numbers))
    }

    private func settle(_ stream: Stream, _ numbers: [UInt64]) {
        #expect(fixture.deliveries.handled(numbers, by: stream.app.stream))
        for number in numbers {
            if let identity = stream.underWay.removeValue(forKey: number) {
                handled[identity] = handled[identity] ?? false
            }
        }
    }

    private func fail() {
        guard let stream = streams.randomElement(using: &dice),
            let number = stream.underWay.keys.min(),
            let identity = stream.underWay.removeValue(forKey: number)
        else { return }
        #expect(fixture.deliveries.failed(Failed(delivery: number, reason: "No."), by: stream.app.stream))
        failures[identity, default: 0] += 1
        rests[identity] = fixture.clock.now + UInt64(Limits.redeliveryMilliseconds) * 1_000_000
    }

    private func leave() {
        guard let index = streams.indices.randomElement(using: &dice) else { return }
        let stream = streams.remove(at: index)
        let isBroken = once(in: 2)
        if isBroken, let oldest = stream.underWay.min(by: { $0.key < $1.key }) {
            failures[oldest.value, default: 0] += 1
        }
        fixture.router.left(stream.app.stream, isBroken: isBroken)
    }

    /// Makes the disk full, or gives it room again.
    private func changeDisk() {
        isFull.toggle()
        _ = try? fixture.files.state.trusted.file.database.execute("PRAGMA query_only = \(isFull ? 1 : 0)")
    }

    private func pass(milliseconds: Int64) {
        fixture.clock.pass(milliseconds: milliseconds)
        fixture.deliveries.redelivery.releaseDue()
        fixture.clock.fireTimers()
    }

    private func kill() throws {
        heed()
        try fixture.kill()
        (isFull, streams, deliveries, arrived, rests) = (false, [], [], [], [:])
        handled = handled.filter(\.value)
        fixture.link.asked = []
        for identity in unacknowledged { arrive(identity) }
    }

    private func retryDeadLetter() throws {
        guard !isFull, let letter = try fixture.files.state.deadLetters.entries().randomElement(using: &dice)
        else { return }
        failures[letter.parcel.identity.low] = 0
        rests[letter.parcel.identity.low] = nil
        #expect(try fixture.deliveries.retryDeadLetter(letter.row))
    }

    // MARK: What has come of it

    private func heed() {
        for number in fixture.link.acknowledged {
            let identity = deliveries[Int(number) - 1]
            unacknowledged.removeAll { $0 == identity }
            if let index = arrived.firstIndex(of: identity) { store(arrived.remove(at: index)) }
        }
        fixture.link.acknowledged = []
        for stream in streams { listen(to: stream) }
        if !fixture.deliveries.hasHandled { handled = handled.mapValues { _ in true } }
        guard fixture.link.asked.contains("start anew") else { return }
        fixture.link.asked = []
        fixture.router.receive(.ended)
        arrived = []
        for identity in unacknowledged { arrive(identity) }
    }

    /// Records that a notification is durable and has replaced the unhandled one with its collapse identifier.
    private func store(_ identity: UInt64) {
        if let collapse = collapses[identity] {
            stored.removeAll {
                collapses[$0] == collapse && topics[$0] == topics[identity] && handled[$0] == nil
            }
        }
        stored.append(identity)
    }

    private func listen(to stream: Stream) {
        let news = stream.app.delivered.dropFirst(stream.heard)
        stream.heard += news.count
        for deliver in news {
            let identity = deliver.identity.low
            #expect(
                fixture.streams.attachments[deliver.topic]?.streams.last === stream.app.stream,
                "an older app is told")
            #expect(stored.contains(identity), "\(identity) is handed over, and is not safe")
            #expect(topics[identity] == deliver.topic && stream.topics.contains(deliver.topic))
            #expect(handled[identity] != true, "\(identity) is handled, and comes again")
            #expect(!stream.underWay.values.contains(identity), "\(identity) comes twice on one stream")
            #expect(rests[identity] ?? 0 <= fixture.clock.now, "\(identity) has failed just now")
            rests[identity] = nil
            stream.underWay[deliver.delivery] = identity
        }
    }
}

@Suite("The router under a seed")
struct RouterSimulationTests {
    @Test(
        "loses nothing, repeats nothing that was handled, and keeps the order",
        arguments: 1...40 as ClosedRange<UInt64>)
    func world(_ seed: UInt64) throws {
        let world = try RouterSimulation(seed: seed)
        for _ in 0..<300 { try world.step() }
        try world.finish()
    }
}
