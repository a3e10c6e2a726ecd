import PostriderCourier
import PostriderNotifications
import Testing

@Suite struct DeviceLinkTests {
    private enum Stage: CaseIterable { case idle, awaitingWelcome, open, closing, closed }

    private let welcome = Welcome(keepaliveSeconds: 60, window: 2, registrations: [], pending: 0)

    /// Makes a link at a stage; from `open` on it has received the first delivery.
    private func link(at stage: Stage) throws -> DeviceLink {
        var link = DeviceLink(hello: Samples.hello, wanted: [:], unwanted: [])
        if stage == .idle { return link }
        #expect(link.start() == .hello(Samples.hello))
        if stage == .awaitingWelcome { return link }
        #expect(try link.receive(.welcome(welcome)) == .welcomed(welcome, send: []))
        #expect(try link.receive(.deliver(Samples.deliver(1))) == .deliver(Samples.deliver(1)))
        if stage == .open { return link }
        if stage == .closing { _ = try link.receive(.goodbye(Samples.off)) }
        if stage == .closed { _ = link.goodbye(.shutdown, detail: "") }
        return link
    }

    private enum Outcome: Equatable { case event(DeviceLink.Event?), error }

    private func outcome(_ message: RelayMessage, at stage: Stage) throws -> Outcome {
        var link = try link(at: stage)
        do throws(CourierError) {
            return .event(try link.receive(message))
        } catch {
            #expect(error.status == .failedPrecondition)
            #expect(!link.isOpen)
            #expect(try link.receive(message) == nil, "after an error everything is ignored")
            return .error
        }
    }

    @Test("every message in every state does what the table says")
    func transitions() throws {
        let none = Outcome.event(nil)
        let late = [none, none]
        // Columns: idle, awaitingWelcome, open, closing, closed.
        let table: [(RelayMessage, [Outcome])] = [
            (.welcome(welcome), [.error, .event(.welcomed(welcome, send: [])), .error] + late),
            (
                .welcome(Welcome(keepaliveSeconds: 0, window: 2, registrations: [], pending: 0)),
                [.error, .error, .error] + late
            ),
            (
                .welcome(Welcome(keepaliveSeconds: 1, window: 0, registrations: [], pending: 0)),
                [.error, .error, .error] + late
            ),
            (
                .welcome(Welcome(keepaliveSeconds: 1, window: 65, registrations: [], pending: 0)),
                [.error, .error, .error] + late
            ),
            (
                .registered(Samples.registered),
                [.error, .error, .event(.registered(Samples.registered))] + late
            ),
            (.unregistered(topic: "a"), [.error, .error, .event(.unregistered(topic: "a"))] + late),
            (.refused(Samples.refused), [.error, .error, .event(.refused(Samples.refused))] + late),
            (.subscribed(Samples.channel), [.error, .error, .event(.subscribed(Samples.channel))] + late),
            (
                .unsubscribed(Samples.unsubscribed),
                [.error, .error, .event(.unsubscribed(Samples.unsubscribed))] + late
            ),
            (.broadcast(Samples.broadcast), [.error, .error, .event(.broadcast(Samples.broadcast))] + late),
            (.deliver(Samples.deliver(2)), [.error, .error, .event(.deliver(Samples.deliver(2)))] + late),
            (.deliver(Samples.deliver(1)), [.error, .error, .error] + late),
            (.deliver(Samples.deliver(3)), [.error, .error, .error] + late),
            (
                .goodbye(Samples.off),
                [.error, .event(.goodbye(Samples.off)), .event(.goodbye(Samples.off))] + late
            ),
            (.unknown, [.error, none, none] + late),
        ]
        for (message, outcomes) in table {
            for (stage, expected) in zip(Stage.allCases, outcomes) {
                #expect(try outcome(message, at: stage) == expected, "\(message) at \(stage)")
            }
        }
    }

    @Test("acknowledgements are sent while the stream lives, also after the relay's goodbye")
    func acknowledgements() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            let lives = stage == .open || stage == .closing
            #expect(link.send(.acknowledge([1])) == (lives ? .acknowledge([1]) : nil))
            #expect(link.send(.acknowledge([])) == nil)
        }
    }

    @Test("reports are sent while the link is open, and not before or after")
    func reports() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            let message = link.send(.report(Samples.report))
            #expect(message == (stage == .open ? .report(Samples.report) : nil))
        }
    }

    @Test("channels are asked for while the link is open, and not before")
    func subscriptions() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            #expect(
                link.send(.subscribe(Samples.subscribe))
                    == (stage == .open ? .subscribe(Samples.subscribe) : nil))
            #expect(
                link.send(.unsubscribe(Samples.channel))
                    == (stage == .open ? .unsubscribe(Samples.channel) : nil))
        }
    }

    @Test("how the device wants to be sent what waits is said in the hello, with the welcome or at once")
    func receptions() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            let isOpen = stage == .open
            #expect(
                link.send(.reception(Samples.reception)) == (isOpen ? .reception(Samples.reception) : nil))
            #expect(link.send(.fetch) == (isOpen ? .fetch : nil))
        }
        var early = try link(at: .idle)
        _ = early.send(.reception(Samples.reception))
        #expect(early.start() == .hello(Samples.saver))
        #expect(try early.receive(.welcome(welcome)) == .welcomed(welcome, send: []))
        var late = try link(at: .awaitingWelcome)
        _ = late.send(.reception(Samples.reception))
        #expect(
            try late.receive(.welcome(welcome)) == .welcomed(welcome, send: [.reception(Samples.reception)]))
    }

    @Test("a relay that overruns the window breaks the protocol")
    func overrun() throws {
        var link = try link(at: .open)
        _ = try link.receive(.deliver(Samples.deliver(2)))
        #expect(throws: CourierError.outOfOrder("Delivery 3 is outside of the window.")) {
            _ = try link.receive(.deliver(Samples.deliver(3)))
        }
        var other = try self.link(at: .open)
        _ = try other.receive(.deliver(Samples.deliver(2)))
        _ = other.send(.acknowledge([1]))
        #expect(try other.receive(.deliver(Samples.deliver(3))) == .deliver(Samples.deliver(3)))
    }

    @Test("a goodbye is said once, and only where it can be heard")
    func goodbyes() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            let heard = stage == .awaitingWelcome || stage == .open
            let goodbye = Goodbye(reason: .shutdown, retryAfterMilliseconds: 0, detail: "off")
            #expect(link.goodbye(.shutdown, detail: "off") == (heard ? .goodbye(goodbye) : nil))
            #expect(link.goodbye(.shutdown, detail: "off") == nil)
        }
    }

    @Test("the welcome brings the relay's registrations in line with what is wanted")
    func reconciliation() throws {
        var link = DeviceLink(
            hello: Samples.hello,
            wanted: ["z.new": .development, "a.b": .production, "b.new": .production, "e.f": .production],
            unwanted: ["c.d", "never.was"])
        #expect(link.send(.register(topic: "late")) == nil)
        #expect(link.send(.unregister(topic: "b.new")) == nil)
        let webPush = RegisterWebPush(topic: "web-push.a", senderKey: [4])
        #expect(link.send(.registerWebPush(webPush)) == nil)
        _ = link.start()
        let event = try link.receive(.welcome(Samples.welcome))
        let send: [DeviceMessage] = [
            .register(topic: "e.f"), .register(topic: "late"),
            .register(topic: "z.new", environment: .development), .registerWebPush(webPush),
            .unregister(topic: "c.d"),
        ]
        #expect(event == .welcomed(Samples.welcome, send: send))
    }

    @Test("on an open link a topic is asked for and given up at once, later not at all")
    func topics() throws {
        var open = try link(at: .open)
        #expect(open.send(.register(topic: "a")) == .register(topic: "a"))
        #expect(
            open.send(.register(topic: "a", environment: .development))
                == .register(topic: "a", environment: .development))
        #expect(open.send(.unregister(topic: "a")) == .unregister(topic: "a"))
        var closing = try link(at: .closing)
        #expect(closing.send(.register(topic: "a")) == nil)
        #expect(closing.send(.unregister(topic: "a")) == nil)
    }

    @Test("a relay's and a device's machine understand each other over any order of acknowledgements")
    func together() throws {
        var relay = RelayLink(window: 3)
        var window = DeliveryWindow(size: 3)
        var device = DeviceLink(hello: Samples.hello, wanted: ["a.b": .production], unwanted: [])
        let hello = device.start()
        #expect(try relay.receive(hello) == .hello(Samples.hello))
        let welcome = relay.welcome(keepaliveSeconds: 60, registrations: [], pending: 100)
        #expect(try device.receive(.welcome(welcome)) == .welcomed(welcome, send: [.register(topic: "a.b")]))
        var held = [UInt64]()
        var received: UInt64 = 0
        while received < 100 {
            while let number = window.advance() {
                #expect(
                    try device.receive(.deliver(Samples.deliver(number))) == .deliver(Samples.deliver(number))
                )
                received = number
                held.append(number)
            }
            let batch = received % 2 == 0 ? held : [held.removeFirst()]
            if received % 2 == 0 { held = [] }
            let acknowledgement = device.send(.acknowledge(batch.reversed()))
            let message = try #require(acknowledgement)
            #expect(try relay.receive(message) == .acknowledged(batch.reversed()))
            #expect(window.acknowledge(batch.reversed()) == nil)
        }
        #expect(window.outstandingCount == held.count)
    }
}
