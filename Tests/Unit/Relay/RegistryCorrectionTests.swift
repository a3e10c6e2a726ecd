import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

/// A disk that fails may have stored what it reports as failed. The relay's next start reads that.
@Suite("A registry that may have a refused change")
struct RegistryCorrectionTests {
    /// The registrations that the ledger is to write.
    private func records(_ ledger: HandLedger) -> [RegistrationRecord] {
        ledger.changes.compactMap { if case .putRegistration(let record) = $0 { record } else { nil } }
    }

    @Test("is corrected before an app hears that its registration has ended")
    func endOfRefusedRegistration() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        line.say(.unregister(topic: Samples.topic.text))
        try fixture.run()
        try fixture.commit()
        line.say(.register(topic: Samples.topic.text, environment: .production))
        try fixture.run()
        let refused = try #require(records(fixture.ledger).last)
        try fixture.commit(isDurable: false)
        #expect(line.goodbye?.reason == .overloaded)

        let next = try fixture.connect()
        next.say(.unregister(topic: Samples.topic.text))
        try fixture.run()
        #expect(next.news.isEmpty, "the disk may have the registration")
        #expect(
            records(fixture.ledger) == [
                RegistrationRecord(
                    device: Samples.device, number: refused.number, topic: Samples.topic,
                    registeredAt: refused.registeredAt, unregisteredAt: fixture.shard.context.now)
            ])
        try fixture.commit()
        #expect(next.news == [.unregistered(topic: Samples.topic.text)])
        next.say(.register(topic: Samples.topic.text, environment: .production))
        try fixture.run()
        let later = try #require(records(fixture.ledger).last)
        #expect(later.number != refused.number, "the disk may have given the number to somebody")
    }

    @Test("is corrected before an app hears that its registration goes on")
    func refusedEnd() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        line.say(.unregister(topic: Samples.topic.text))
        try fixture.run()
        try fixture.commit(isDurable: false)
        let next = try fixture.connect()
        next.say(.register(topic: Samples.topic.text, environment: .production))
        try fixture.run()
        #expect(next.news.isEmpty, "the disk may have the end of the registration")
        #expect(records(fixture.ledger).map(\.unregisteredAt) == [nil])
        try fixture.commit()
        guard case .registered = next.news.last else {
            Issue.record("the app has no token: \(next.news)")
            return
        }
    }

    @Test("is not trusted while the disk goes on to fail: an app is to come back")
    func stillFailing() throws {
        let fixture = try DeviceFixture()
        for _ in 1...3 {
            let line = try fixture.connect()
            line.say(.unregister(topic: Samples.topic.text))
            try fixture.run()
            try fixture.commit(isDurable: false)
            #expect(line.goodbye?.reason == .overloaded)
            #expect(!line.news.contains(.unregistered(topic: Samples.topic.text)))
        }
    }

    @Test("is corrected before a browser hears that its subscription has ended")
    func browser() throws {
        let fixture = try WebFixture()
        let channel = "d9b74644-4f97-46aa-b8fa-9393985cd6cd"
        let browser = try fixture.connect()
        browser.say(#"{"messageType":"register","channelID":"\#(channel)"}"#)
        fixture.run()
        fixture.commit(isDurable: false)
        #expect(browser.messages("register").last?["status"] as? Int == 503)
        browser.say(#"{"messageType":"unregister","channelID":"\#(channel)"}"#)
        fixture.run()
        #expect(browser.messages("unregister").isEmpty, "the disk may have the subscription")
        #expect(records(fixture.ledger).map { $0.unregisteredAt == nil } == [false])
        fixture.commit()
        #expect(browser.messages("unregister").last?["status"] as? Int == 200)
        #expect(try fixture.register(browser, channel: channel).hasPrefix(WebFixture.origin + "/push/"))
    }
}
