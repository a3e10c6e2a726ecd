import PostriderJSON
import PostriderNotifications
import Testing

@testable import PostriderWebPush

@Suite("A session of an autopush device")
struct AutopushSessionTests {
    private let channel = AutopushTable.channel

    private func greeted() -> AutopushSession {
        var session = AutopushSession(at: 0)
        _ = session.receive(#"{"messageType":"hello"}"#)
        _ = session.identified(as: "device")
        return session
    }

    private func notification(_ version: String, in channel: String = "a") -> AutopushNotification {
        AutopushNotification(channel: channel, version: version, message: WebPushMessage(.aes128gcm, [1, 2]))
    }

    private func members(_ effects: [AutopushSession.Effect]) -> [String: JSONValue]? {
        guard case .send(let bytes)? = effects.first, effects.count == 1 else { return nil }
        return JSONValue.members(ofObject: bytes.span)
    }

    @Test("answers hello with the identity that the relay gives, once")
    func hello() throws {
        var session = AutopushSession(at: 0)
        #expect(session.identified(as: "early") == [])
        #expect(session.receive(#"{"messageType":"hello","uaid":"old"}"#) == [.identify("old")])
        #expect(!session.isReady)
        let answer = try #require(members(session.identified(as: "new")))
        #expect(answer["uaid"] == .string("new"))
        #expect(answer["status"] == .integer(200))
        #expect(answer["use_webpush"] == .boolean(true))
        #expect(answer["broadcasts"] == .object([:]))
        #expect(session.isReady && session.isIdle)
        #expect(session.identified(as: "again") == [])
    }

    @Test("answers a registration with the address, or with the status of the failure")
    func registration() throws {
        var session = greeted()
        for _ in 1...3 { _ = session.receive(#"{"messageType":"register","channelID":"\#(channel)"}"#) }
        #expect(!session.isIdle)
        let good = try #require(members(session.registered(channel, at: "https://push.example.org/push/1")))
        #expect(good["pushEndpoint"] == .string("https://push.example.org/push/1"))
        #expect(good["channelID"] == .string(channel))
        let bad = try #require(members(session.registrationFailed(channel, status: 503)))
        #expect(bad["status"] == .integer(503) && bad["pushEndpoint"] == nil)
        let removed = try #require(members(session.unregistered(channel)))
        #expect(removed["messageType"] == .string("unregister") && removed["status"] == .integer(200))
        #expect(session.isIdle)
        #expect(session.unregistered(channel) == [], "nothing is pending")
    }

    @Test("closes for a device that registers faster than the relay answers")
    func pendingRequests() {
        var session = greeted()
        let message = #"{"messageType":"register","channelID":"\#(channel)"}"#
        for _ in 1...Limits.autopushPendingRequests {
            #expect(session.receive(message) == [.register(channel: channel, key: nil)])
        }
        #expect(session.receive(message) == [.close(.tooManyMessages)])
        #expect(session.registered(channel, at: "https://push.example.org/") == [], "it is closed")
    }

    private func acknowledgement(_ versions: String...) -> String {
        let updates = versions.map { #"{"version":"\#($0)"}"# }.joined(separator: ",")
        return #"{"messageType":"ack","updates":[\#(updates)]}"#
    }

    @Test("has room for a bounded number of notifications, and room again after acknowledgements")
    func room() {
        var session = greeted()
        for number in 1...Limits.autopushUnsettled {
            #expect(session.hasRoom)
            let effects = session.deliver(notification("v\(number)", in: "channel \(number)"))
            #expect(members(effects)?["version"] == .string("v\(number)"))
        }
        #expect(!session.hasRoom && !session.isIdle)
        #expect(session.deliver(notification("more")) == [])
        #expect(session.receive(acknowledgement("v1", "more")) == [.settle(version: "v1", .delivered)])
        #expect(session.hasRoom)
    }

    @Test("sends the notifications of a channel one after the other, and those of others meanwhile")
    func order() {
        var session = greeted()
        #expect(members(session.deliver(notification("a1")))?["version"] == .string("a1"))
        #expect(session.deliver(notification("a2")) == [])
        #expect(session.deliver(notification("a3")) == [])
        #expect(members(session.deliver(notification("b1", in: "b")))?["version"] == .string("b1"))
        #expect(session.deliver(notification("b2", in: "b")) == [])
        #expect(session.receive(acknowledgement("a2")) == [], "it was not sent yet")
        for (settled, next) in [("a1", "a2"), ("a2", "a3"), ("b1", "b2")] {
            let sent = AutopushResponse.notification(notification(next, in: String(next.prefix(1)))).bytes
            #expect(
                session.receive(acknowledgement(settled))
                    == [.settle(version: settled, .delivered), .turn(version: next)])
            #expect(session.deliver(notification("late", in: String(next.prefix(1)))) == [])
            #expect(session.sendWaiting(next) == [.send(sent)])
            #expect(session.sendWaiting(next) == [], "it was sent")
        }
        #expect(
            session.receive(acknowledgement("a3", "b2"))
                == [
                    .settle(version: "a3", .delivered), .turn(version: "late"),
                    .settle(version: "b2", .delivered), .turn(version: "late"),
                ])
    }

    @Test("does not send a notification that was withdrawn when its turn came")
    func withdrawal() {
        var session = greeted()
        for version in ["a1", "a2", "a3"] { _ = session.deliver(notification(version)) }
        #expect(
            session.receive(acknowledgement("a1"))
                == [.settle(version: "a1", .delivered), .turn(version: "a2")])
        let withdrawn = ["a1", "a2", "a3"].map { session.withdraw($0) }
        #expect(withdrawn == [[], [.turn(version: "a3")], []])
        #expect(session.isIdle && session.deliver(notification("a4")).count == 1)
    }

    @Test("closes for a device that sends all the time, but not for one that acknowledges all the time")
    func flood() {
        var session = greeted()
        for number in 1...2000 {
            _ = session.deliver(notification("v\(number)"))
            let effects = session.receive(
                #"{"messageType":"ack","updates":[{"version":"v\#(number)"}]}"#)
            #expect(effects == [.settle(version: "v\(number)", .delivered)])
        }
        // The hello was one of them.
        for _ in 1..<Limits.autopushMessages.atOnce {
            #expect(session.receive("{}") == [.send([0x7B, 0x7D])])
        }
        #expect(session.receive("{}") == [.close(.tooManyMessages)])

        var slow = greeted()
        for second in 1...2000 as ClosedRange<UInt64> {
            #expect(slow.receive("{}", at: second * 1_000_000_000) == [.send([0x7B, 0x7D])])
        }
    }

    @Test("gives a notification its encrypted bytes and what decrypts them")
    func headers() throws {
        var session = greeted()
        let modern = try #require(members(session.deliver(notification("v1"))))
        #expect(modern["data"] == .string("AQI") && modern["channelID"] == .string("a"))
        #expect(modern["headers"] == .object(["encoding": .string("aes128gcm")]))
        let older = WebPushMessage(.aesgcm(encryption: "salt=a", cryptoKey: "dh=b"), [255])
        let second = AutopushNotification(channel: "b", version: "v2", message: older)
        let answer = try #require(members(session.deliver(second)))
        #expect(
            answer["headers"]
                == .object([
                    "encoding": .string("aesgcm"), "encryption": .string("salt=a"),
                    "crypto_key": .string("dh=b"),
                ]))
        let empty = AutopushNotification(channel: "c", version: "v3", message: WebPushMessage(nil, []))
        let last = try #require(members(session.deliver(empty)))
        #expect(last["data"] == nil && last["headers"] == nil)
    }

    @Test("gives each reason for a close as one that fits into a close frame")
    func reasons() {
        let all: [AutopushClose] = [
            .goingAway, .notJSON, .replaced, .tooManyMessages, .unexpected, .noHello, .unknownType,
            .tryAgainLater, .invalidMember("use_webpush"),
        ]
        for close in all { #expect(close.reason.utf8.count <= 123 && close.code >= 1001) }
    }
}
