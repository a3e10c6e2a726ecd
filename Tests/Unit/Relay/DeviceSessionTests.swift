import PostriderChannels
import PostriderCourier
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A device's session", .eachProtocolCode)
struct DeviceSessionTests {
    private func subscribe(_ topic: Topic = Samples.topic) -> DeviceMessage {
        .subscribe(Subscribe(topic: topic.text, channel: DeviceHouse.channel))
    }

    private func ended(_ reason: String, of topic: Topic?) -> RelayMessage {
        .unsubscribed(
            Unsubscribed(channel: DeviceHouse.channel, reason: reason, topic: topic?.text ?? ""))
    }

    @Test("notes the charge of the device's battery for the operator, from the hello and from each change")
    func battery() throws {
        let house = try DeviceHouse()
        func charge() -> Int? { house.shard.home.deviceReports(DeviceFilter()).first?.batteryPercent }
        #expect(charge() == nil)
        let line = try house.connect(by: Reception(batteryPercent: 40))
        #expect(charge() == 40)
        line.say(.reception(Reception(batteryPercent: 35)))
        try house.run()
        #expect(charge() == 35)
    }

    @Test("says nothing after its goodbye, while acknowledgements still count")
    func nothingAfterGoodbye() throws {
        let house = try DeviceHouse()
        let line = try house.connect()
        try house.push(1)
        line.session.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try house.run()
        #expect(line.goodbye?.retryAfterMilliseconds == 7 && line.status == nil)
        line.session.say(.unregistered(topic: "late"))
        try house.run()
        #expect(line.heard.last == line.goodbye.map { .goodbye($0) })
        line.acknowledgeAll()
        try house.run()
        #expect(line.status == .resourceExhausted)
        #expect(house.shard.home.tally.delivered == 1)
    }

    @Test(
        "ends a link whose device acknowledges what is not under way",
        arguments: [[4], [0], [2, 2], [1, 9]])
    func wrongAcknowledgement(_ deliveries: [UInt64]) throws {
        let house = try DeviceHouse()
        let line = try house.connect()
        for number in 1...3 { try house.push(UInt64(number)) }
        line.say(.acknowledge(deliveries))
        try house.run()
        #expect(line.goodbye?.reason == .protocolError && line.status == .failedPrecondition)
        #expect(line.goodbye?.detail.contains("is not under way") == true)
        #expect(house.shard.home.tally.delivered == 0 && house.shard.home.tally.pending == 3)
        let next = try house.connect()
        #expect(next.delivered == [1, 2, 3], "nothing was settled")
    }

    @Test("sends nothing after its goodbye, and ends with the last acknowledgement of what it sent before")
    func pushesAfterGoodbye() throws {
        let house = try DeviceHouse()
        let line = try house.connect()
        try house.push(1)
        line.session.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try house.push(2)
        #expect(line.delivered == [1] && line.status == nil)
        line.acknowledgeAll()
        try house.run()
        #expect(line.status == .resourceExhausted)
        #expect(house.shard.home.tally.delivered == 1 && house.shard.home.tally.pending == 1)
        let next = try house.connect()
        #expect(next.delivered == [2])
    }

    @Test("counts a broadcast as sent only where it is sent")
    func broadcastAfterGoodbye() throws {
        let house = try DeviceHouse()
        house.makeChannel()
        let line = try house.connect()
        line.say(subscribe())
        try house.run()
        try house.broadcast(1)
        #expect(house.shard.devices.subscriptions.tally == BroadcastTally(accepted: 0, sent: 1, dropped: 0))
        try house.push(1)
        line.session.leave(.shutdown, "the relay is shutting down")
        try house.broadcast(2)
        #expect(house.shard.devices.subscriptions.tally == BroadcastTally(accepted: 0, sent: 1, dropped: 0))
        #expect(line.news.count { if case .broadcast = $0 { true } else { false } } == 1)
    }

    @Test("refuses one app another's channel, and leaves the other's subscription alone")
    func foreignChannel() throws {
        let house = try DeviceHouse()
        house.makeChannel()
        let line = try house.connect()
        line.say(subscribe())
        line.say(subscribe(Samples.otherTopic))
        line.say(subscribe(Samples.named("com.example.none")))
        try house.run()
        #expect(
            line.news == [
                ended("The topic is not registered on this device.", of: Samples.named("com.example.none")),
                .subscribed(DeviceHouse.channel),
                ended("The app has no such channel.", of: Samples.otherTopic),
            ])
        try house.broadcast(1)
        #expect(house.shard.devices.subscriptions.tally.sent == 1)
        line.say(.unsubscribe(DeviceHouse.channel))
        try house.run()
        #expect(line.news.last == ended("", of: nil))
        try house.broadcast(2)
        #expect(
            house.shard.devices.subscriptions.tally.sent == 1
                && house.shard.devices.subscriptions.subscribers.count == 0)
    }

    @Test("tells the app whose channel is deleted, and no other")
    func deletedChannel() throws {
        let house = try DeviceHouse()
        house.makeChannel()
        let line = try house.connect()
        line.say(subscribe())
        try house.run()
        house.shard.context.outbox.send(.channel(.removed(DeviceHouse.channel)), to: 0)
        try house.run()
        #expect(line.news.last == ended("The channel was deleted.", of: Samples.topic))
        #expect(line.session.subscriptions.isEmpty)
    }

    @Test("a forbidden channel is removed as soon as the disk lets it, whatever came between")
    func forbiddenChannels() throws {
        let house = try DeviceHouse()
        house.makeChannel(of: Samples.named("com.example.silent"))
        house.shard.channels.removeForbidden()
        try house.run()
        #expect(house.ledger.removedChannels == [DeviceHouse.channel])
        try house.commit(isDurable: false)
        #expect(house.shard.channels.registry.count == 1)
        house.shard.channels.sweep()
        house.shard.channels.removeForbidden()
        try house.run()
        try house.commit()
        #expect(house.shard.channels.registry.count == 0)
        house.shard.channels.sweep()
        house.shard.channels.removeForbidden()
        try house.run()
        #expect(house.ledger.removedChannels.isEmpty)
    }

    @Test("needs little on a link from the welcome on, and everything works on")
    func lean() throws {
        let house = try DeviceHouse()
        let line = try house.connect()
        #expect(
            line.session.endpoint.streams.isLean == (EachProtocolCode.current.deviceLinks == .lean))
        try house.push(1)
        #expect(line.delivered == [1])
        line.acknowledgeAll()
        try house.run()
        #expect(house.shard.home.tally.delivered == 1)
        try house.push(2)
        #expect(line.delivered == [1, 2])
        line.acknowledgeAll()
        // The device gets a PING and answers it, as long as it is connected.
        for _ in 1...3 { try house.advance(byMilliseconds: 1800 * 1000) }
        line.session.leave(.replaced, "the device has a newer connection")
        try house.run()
        #expect(line.goodbye?.reason == .replaced && line.status == Goodbye.Reason.replaced.status)
    }

    @Test("is refused a development token where no provider could use it")
    func development() throws {
        for hasDevelopment in [true, false] {
            let house = try DeviceHouse(hasDevelopment: hasDevelopment)
            let line = try house.connect()
            line.say(.register(topic: Samples.topic.text, environment: .development))
            try house.run()
            try house.commit()
            switch line.news.last {
            case .registered(let registered):
                #expect(hasDevelopment && registered.environment == .development)
            case .refused(let refused):
                #expect(!hasDevelopment && refused.topic == Samples.topic.text)
                #expect(refused.reason.contains("production"))
            default: Issue.record("no answer")
            }
            #expect(
                house.shard.home.entries[Samples.device]?.device.registrations.number(of: Samples.topic)
                    != nil)
        }
    }

    @Test("whose notifications cannot be read is to come back in five seconds, and is sent them then")
    func unreadable() throws {
        let house = try DeviceHouse()
        try house.push(1)
        try house.commit()
        house.ledger.failsToRead = true
        let line = try house.connect()
        try house.commit()
        #expect(line.goodbye?.reason == .overloaded && line.goodbye?.retryAfterMilliseconds == 5_000)
        #expect(house.shard.home.tally.pending == 1 && house.shard.home.tally.isBalanced)
        house.ledger.failsToRead = false
        let next = try house.connect()
        try house.commit()
        #expect(next.delivered == [1])
    }

    /// The welcome waits until the disk has the change that an older connection has asked for.
    @Test("that has moved home and waits for its welcome has its time")
    func waitsAtHome() throws {
        let house = try DeviceHouse()
        let older = try house.connect()
        older.say(.unregister(topic: Samples.topic.text))
        try house.run()
        let line = try house.connect()
        #expect(line.session.awaitsWelcome)
        line.session.depart()
        line.session.arrive(at: house.shard.devices, number: house.shard.context.drawNumber())
        try house.advance(byMilliseconds: Limits.helloMilliseconds - 1)
        #expect(line.goodbye == nil)
        try house.advance(byMilliseconds: 1)
        // The device has done its part, and is asked to come back.
        #expect(line.goodbye?.reason == .overloaded && line.status == .resourceExhausted)
        try house.advance(byMilliseconds: 5_000)
        #expect(line.closed != nil && older.closed == nil)
    }
}
