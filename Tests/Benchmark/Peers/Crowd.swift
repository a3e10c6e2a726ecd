import Foundation
import PostriderHTTP2
import PostriderLoad
import PostriderNotifications
import PostriderSeededRandom
import PostriderTLS
import PostriderTransport

/// Sends messages to any of the subscribers.
protocol Publisher: AnyObject {
    /// Whether it accepts a message now.
    var hasRoom: Bool { get }
    /// Sends one message.
    func publish(_ message: [UInt8], to subscriber: Int)
}

/// The subscribers and the publishers of a run, on one loop, with the measurements. A message contains its scheduled
/// time and its subscriber.
final class Crowd {
    private enum Stage { case connecting, warming, measuring, draining }

    let address: SocketAddress
    private let loop: EventLoop
    private let tls: TLSContext
    private let order: Order
    private var stage = Stage.connecting
    private var alarm: (any LoopTimer)?
    private var pacer: PreciseTimer?
    private(set) var complaint: Complaint?
    private var hasFinished = false

    private var begun = 0
    private var subscribed = 0
    private var publishers: [any Publisher] = []
    private var publishersReady = 0
    private var nextPublisher = 0
    /// The sessions, which would end with their connections, until the end of the run.
    private var sessions: [any ConnectionHandler] = []

    private var clock = EventLoop.monotonicNanoseconds
    private var message = [UInt8](repeating: UInt8(ascii: "m"), count: 200)
    private var chance = SplitMix64(seed: 1)
    private var sent = 0
    private var acknowledged = 0
    private var arrived = 0
    private var strayed = 0
    /// The scheduled time of the first message of an open loop.
    private var epoch: UInt64 = 0
    private var latencies = LatencyHistogram()
    private var start = (clock: UInt64(0), acknowledged: 0, arrived: 0)
    private var needsPump = false

    private static let publisherCount = 4
    private static let handshakes = 64
    private static let warmUpMilliseconds = 1000
    private static let drainMilliseconds = 10_000

    init(_ order: Order, on loop: EventLoop, tls: TLSContext) throws(TransportError) {
        (self.order, self.loop, self.tls, address) = (order, loop, tls, order.address)
        alarm = loop.makeTimer { [unowned self] in proceed() }
        pacer = try loop.makePreciseTimer { [unowned self] in pump() }
        loop.turnEnded = { [unowned self] in if needsPump { pump() } }
    }

    /// Connects the first subscribers; the others and then the publishers follow.
    func begin() {
        for _ in 0..<min(Self.handshakes, order.subscribers) { connectSubscriber() }
    }

    /// Reads the clock once for all messages that arrive together.
    func readClock() { clock = EventLoop.monotonicNanoseconds }

    // MARK: What connections tell

    /// Counts a subscriber that is ready.
    func subscriberIsReady() {
        subscribed += 1
        if begun < order.subscribers {
            connectSubscriber()
        } else if subscribed == order.subscribers {
            switch order.pace {
            case .idle: proceed()
            case .inFlight, .rate: for _ in 0..<Self.publisherCount { connectPublisher() }
            }
        }
    }

    /// Counts a publisher that is ready.
    func publisherIsReady() {
        publishersReady += 1
        if publishersReady == Self.publisherCount { proceed() }
    }

    /// Notes that a publisher may have room again.
    func roomWasMade() { needsPump = true }

    /// Counts a message that the broker has acknowledged.
    func messageWasAcknowledged() {
        acknowledged += 1
        needsPump = true
    }

    /// Counts a message that a subscriber has received.
    func messageArrived(_ bytes: Span<UInt8>, at subscriber: Int) {
        arrived += 1
        needsPump = true
        guard bytes.count == message.count, Self.number(in: bytes, at: 16) == UInt32(subscriber),
            let high = Self.number(in: bytes, at: 0), let low = Self.number(in: bytes, at: 8)
        else { return strayed += 1 }
        let due = UInt64(high) << 32 | UInt64(low)
        // Late messages of the warm-up are not measured; `postrider load` waits for them before it measures.
        if stage == .measuring, due >= start.clock { latencies.record(clock - min(due, clock)) }
    }

    /// Ends the run, because a connection ended unexpectedly.
    func connectionEnded(_ reason: CloseReason) {
        guard complaint == nil, !hasFinished else { return }
        complaint = Complaint(text: "a connection to \(address) ended: \(reason)")
        loop.stop()
    }

    // MARK: Stages

    private func proceed() {
        readClock()
        switch stage {
        case .connecting:
            say(["stage": "connected"])
            stage = .warming
            epoch = clock
            needsPump = true
            pump()
            alarm?.arm(afterMilliseconds: Self.warmUpMilliseconds)
        case .warming:
            stage = .measuring
            start = (clock, acknowledged, arrived)
            say(["stage": "measuring"])
            alarm?.arm(afterMilliseconds: order.seconds * 1000)
        case .measuring:
            stage = .draining
            say([
                "stage": "measured", "seconds": Double(clock - start.clock) / 1e9,
                "accepted": acknowledged - start.acknowledged, "delivered": arrived - start.arrived,
                "p50": Double(latencies.value(atQuantile: 0.5)) / 1000,
                "p99": Double(latencies.value(atQuantile: 0.99)) / 1000,
            ])
            alarm?.arm(afterMilliseconds: Self.drainMilliseconds)
            pump()
        case .draining: finish()
        }
    }

    private func finish() {
        hasFinished = true
        if sent != arrived || strayed > 0 {
            complaint = Complaint(
                text: "of \(sent) messages \(arrived) arrived, \(strayed) not where they should")
        }
        loop.stop()
    }

    private func say(_ event: [String: Any]) {
        guard let data = try? JSONSerialization.data(withJSONObject: event) else { return }
        FileHandle.standardOutput.write(data + Data("\n".utf8))
    }

    // MARK: Messages

    private func pump() {
        needsPump = false
        readClock()
        switch stage {
        case .connecting: return
        case .draining: if sent == arrived { finish() }
        case .warming, .measuring:
            while let moment = dueMoment(), let publisher = publisherWithRoom() {
                publish(at: moment, by: publisher)
            }
            if case .rate = order.pace { pacer?.arm(at: max(clock + 1, moment(of: sent))) }
        }
    }

    /// The scheduled time of the next message if it may be sent now.
    private func dueMoment() -> UInt64? {
        switch order.pace {
        case .idle: nil
        case .inFlight(let most): sent - min(acknowledged, arrived) < most ? clock : nil
        case .rate: moment(of: sent) <= clock ? moment(of: sent) : nil
        }
    }

    /// The scheduled time of a message of an open loop.
    private func moment(of number: Int) -> UInt64 {
        guard case .rate(let perSecond) = order.pace else { return epoch }
        return epoch + UInt64(number) * 1_000_000_000 / UInt64(perSecond)
    }

    private func publish(at moment: UInt64, by publisher: any Publisher) {
        let subscriber = Int.random(in: 0..<order.subscribers, using: &chance)
        write(UInt32(truncatingIfNeeded: moment >> 32), at: 0)
        write(UInt32(truncatingIfNeeded: moment), at: 8)
        write(UInt32(subscriber), at: 16)
        sent += 1
        publisher.publish(message, to: subscriber)
    }

    private func publisherWithRoom() -> (any Publisher)? {
        for _ in publishers.indices {
            nextPublisher = nextPublisher + 1 < publishers.count ? nextPublisher + 1 : 0
            if publishers[nextPublisher].hasRoom { return publishers[nextPublisher] }
        }
        return nil
    }

    /// Writes a number as eight digits.
    private func write(_ number: UInt32, at place: Int) {
        let digits = Hexadecimal.digits(number, letterA: UInt8(ascii: "a"))
        for index in 0..<8 { message[place + index] = UInt8(truncatingIfNeeded: digits >> UInt64(8 * index)) }
    }

    private static func number(in bytes: Span<UInt8>, at place: Int) -> UInt32? {
        Hexadecimal.bytes(bytes.octet(at: place))
    }

    // MARK: Connections

    private func connectSubscriber() {
        let number = begun
        begun += 1
        switch order.broker {
        case .mqtt: connect(MQTTSubscriber(number, of: self))
        case .nchan: connect(StreamReader(number, of: self).endpoint)
        case .https: connect(StreamCaller(of: self).endpoint)
        }
    }

    private func connectPublisher() {
        switch order.broker {
        case .mqtt:
            let publisher = MQTTPublisher(publishers.count, of: self)
            publishers.append(publisher)
            connect(publisher)
        case .nchan, .https:
            let publisher = StreamWriter(of: self)
            publishers.append(publisher)
            connect(publisher.endpoint)
        }
    }

    private func connect(_ session: any ConnectionHandler) {
        sessions.append(session)
        var limits = ConnectionLimits.client
        limits.handshakeMilliseconds = 30_000
        loop.connect(to: address, tls: (tls, "localhost"), limits: limits, session: session)
    }
}
