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
        .subscribe(Subscribe(topic: topic.text, channel: DeviceFixture.channel))
    }

    private func ended(_ reason: String, of topic: Topic?) -> RelayMessage {
        .unsubscribed(
            Unsubscribed(channel: DeviceFixture.channel, reason: reason, topic: topic?.text ?? ""))
    }

    @Test("notes the charge of the device's battery for the operator, from the hello and from each change")
    func battery() throws {
        let fixture = try DeviceFixture()
        func charge() -> Int? { fixture.shard.home.deviceReports(DeviceFilter()).first?.batteryPercent }
        #expect(charge() == nil)
        let line = try fixture.connect(by: Reception(batteryPercent: 40))
        #expect(charge() == 40)
        line.say(.reception(Reception(batteryPercent: 35)))
        try fixture.run()
        #expect(charge() == 35)
    }

    @Test("says nothing after its goodbye, while acknowledgements still count")
    func nothingAfterGoodbye() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        try fixture.push(1)
        line.session.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try fixture.run()
        #expect(line.goodbye?.retryAfterMilliseconds == 7 && line.status == nil)
        line.session.say(.unregistered(topic: "late"))
        try fixture.run()
        #expect(line.heard.last == line.goodbye.map { .goodbye($0) })
        line.acknowledgeAll()
        try fixture.run()
        #expect(line.status == .resourceExhausted)
        #expect(fixture.shard.home.tally.delivered == 1)
    }

    @Test(
        "ends a link whose device acknowledges what is not under way",
        arguments: [[4], [0], [2, 2], [1, 9]])
    func wrongAcknowledgement(_ deliveries: [UInt64]) throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        for number in 1...3 { try fixture.push(UInt64(number)) }
        line.say(.acknowledge(deliveries))
        try fixture.run()
        #expect(line.goodbye?.reason == .protocolError && line.status == .failedPrecondition)
        #expect(line.goodbye?.detail.contains("is not under way") == true)
        #expect(fixture.shard.home.tally.delivered == 0 && fixture.shard.home.tally.pending == 3)
        let next = try fixture.connect()
        #expect(next.delivered == [1, 2, 3], "nothing was settled")
    }

    @Test("sends nothing after its goodbye, and ends with the last acknowledgement of what it sent before")
    func pushesAfterGoodbye() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        try fixture.push(1)
        line.session.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try fixture.push(2)
        #expect(line.delivered == [1] && line.status == nil)
        line.acknowledgeAll()
        try fixture.run()
        #expect(line.status == .resourceExhausted)
        #expect(fixture.shard.home.tally.delivered == 1 && fixture.shard.home.tally.pending == 1)
        let next = try fixture.connect()
        #expect(next.delivered == [2])
    }

    @Test("counts a broadcast as sent only where it is sent")
    func broadcastAfterGoodbye() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel()
        let line = try fixture.connect()
        line.say(subscribe())
        try fixture.run()
        try fixture.broadcast(1)
        #expect(fixture.shard.devices.subscriptions.tally == BroadcastTally(accepted: 0, sent: 1, dropped: 0))
        try fixture.push(1)
        line.session.leave(.shutdown, "the relay is shutting down")
        try fixture.broadcast(2)
        #expect(fixture.shard.devices.subscriptions.tally == BroadcastTally(accepted: 0, sent: 1, dropped: 0))
        #expect(line.news.count { if case .broadcast = $0 { true } else { false } } == 1)
    }

    @Test("refuses one app another's channel, and leaves the other's subscription alone")
    func foreignChannel() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel()
        let line = try fixture.connect()
        line.say(subscribe())
        line.say(subscribe(Samples.otherTopic))
        line.say(subscribe(Samples.named("com.example.none")))
        try fixture.run()
        #expect(
            line.news == [
                ended("The topic is not registered on this device.", of: Samples.named("com.example.none")),
                .subscribed(DeviceFixture.channel),
                ended("The app has no such channel.", of: Samples.otherTopic),
            ])
        try fixture.broadcast(1)
        #expect(fixture.shard.devices.subscriptions.tally.sent == 1)
        line.say(.unsubscribe(DeviceFixture.channel))
        try fixture.run()
        #expect(line.news.last == ended("", of: nil))
        try fixture.broadcast(2)
        #expect(
            fixture.shard.devices.subscriptions.tally.sent == 1
                && fixture.shard.devices.subscriptions.subscribers.count == 0)
    }

    @Test("tells the app whose channel is deleted, and no other")
    func deletedChannel() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel()
        let line = try fixture.connect()
        line.say(subscribe())
        try fixture.run()
        fixture.shard.context.outbox.send(.channel(.removed(DeviceFixture.channel)), to: 0)
        try fixture.run()
        #expect(line.news.last == ended("The channel was deleted.", of: Samples.topic))
        #expect(line.session.subscriptions.isEmpty)
    }

    @Test("a forbidden channel is removed as soon as the disk lets it, whatever came between")
    func forbiddenChannels() throws {
        let fixture = try DeviceFixture()
        fixture.makeChannel(of: Samples.named("com.example.silent"))
        fixture.shard.channels.removeForbidden()
        try fixture.run()
        #expect(fixture.ledger.removedChannels == [DeviceFixture.channel])
        try fixture.commit(isDurable: false)
        #expect(fixture.shard.channels.registry.count == 1)
        fixture.shard.channels.sweep()
        fixture.shard.channels.removeForbidden()
        try fixture.run()
        try fixture.commit()
        #expect(fixture.shard.channels.registry.count == 0)
        fixture.shard.channels.sweep()
        fixture.shard.channels.removeForbidden()
        try fixture.run()
        #expect(fixture.ledger.removedChannels.isEmpty)
    }

    @Test("needs little on a link from the welcome on, and everything works on")
    func lean() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        #expect(
            line.session.endpoint.streams.isLean == (EachProtocolCode.current.deviceLinks == .lean))
        try fixture.push(1)
        #expect(line.delivered == [1])
        line.acknowledgeAll()
        try fixture.run()
        #expect(fixture.shard.home.tally.delivered == 1)
        try fixture.push(2)
        #expect(line.delivered == [1, 2])
        line.acknowledgeAll()
        // The device gets a PING and answers it, as long as it is connected.
        for _ in 1...3 { try fixture.advance(byMilliseconds: 1800 * 1000) }
        line.session.leave(.replaced, "the device has a newer connection")
        try fixture.run()
        #expect(line.goodbye?.reason == .replaced && line.status == Goodbye.Reason.replaced.status)
    }

    @Test("is refused a development token where no provider could use it")
    func development() throws {
        for hasDevelopment in [true, false] {
            let fixture = try DeviceFixture(hasDevelopment: hasDevelopment)
            let line = try fixture.connect()
            line.say(.register(topic: Samples.topic.text, environment: .development))
            try fixture.run()
            try fixture.commit()
            switch line.news.last {
            case .registered(let registered):
                #expect(hasDevelopment && registered.environment == .development)
            case .refused(let refused):
                #expect(!hasDevelopment && refused.topic == Samples.topic.text)
                #expect(refused.reason.contains("production"))
            default: Issue.record("no answer")
            }
            #expect(
                fixture.shard.home.entries[Samples.device]?.device.registrations.number(of: Samples.topic)
                    != nil)
        }
    }

    @Test("whose notifications cannot be read is to come back in five seconds, and is sent them then")
    func unreadable() throws {
        let fixture = try DeviceFixture()
        try fixture.push(1)
        try fixture.commit()
        fixture.ledger.failsToRead = true
        let line = try fixture.connect()
        try fixture.commit()
        #expect(line.goodbye?.reason == .overloaded && line.goodbye?.retryAfterMilliseconds == 5_000)
        #expect(fixture.shard.home.tally.pending == 1 && fixture.shard.home.tally.isBalanced)
        fixture.ledger.failsToRead = false
        let next = try fixture.connect()
        try fixture.commit()
        #expect(next.delivered == [1])
    }

    /// The welcome waits until the disk has the change that an older connection has asked for.
    @Test("that has moved home and waits for its welcome has its time")
    func waitsAtHome() throws {
        let fixture = try DeviceFixture()
        let older = try fixture.connect()
        older.say(.unregister(topic: Samples.topic.text))
        try fixture.run()
        let line = try fixture.connect()
        #expect(line.session.awaitsWelcome)
        line.session.depart()
        line.session.arrive(at: fixture.shard.devices, number: fixture.shard.context.drawNumber())
        try fixture.advance(byMilliseconds: Limits.helloMilliseconds - 1)
        #expect(line.goodbye == nil)
        try fixture.advance(byMilliseconds: 1)
        // The device has done its part, and is asked to come back.
        #expect(line.goodbye?.reason == .overloaded && line.status == .resourceExhausted)
        try fixture.advance(byMilliseconds: 5_000)
        #expect(line.closed != nil && older.closed == nil)
    }
}
