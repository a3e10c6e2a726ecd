import Foundation
import PostriderCallbackSender
import PostriderCallbacks
import PostriderNotifications
import Synchronization
import Testing

@Suite("The sender of callbacks")
struct CallbackSenderTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// A sender for one test, and what it logs.
    private final class Sending: Sendable {
        let counts = CallbackCounts()
        let lines: Lines
        let sender: CallbackSender

        final class Lines: Sendable {
            let all = Mutex<[String]>([])
        }

        init() throws {
            let lines = Lines()
            self.lines = lines
            let log = Log { line in lines.all.withLock { $0.append(line.text) } }
            sender = try CallbackSender(key: try #require(CallbackKey(secret)), counts: counts, log: log)
        }

        func send(_ id: String, to url: String, _ body: String = "{}") throws {
            let url = try #require(CallbackURL(url))
            sender.send([CallbackMessage(id: id, url: url, body: Array(body.utf8))])
        }

        /// Waits until so many of a kind are counted.
        func wait(for count: UInt64, _ kind: CallbackCounts.Kind) async {
            while counts[kind] < count { await Task.yield() }
        }
    }

    @Test("posts JSON with the header fields of Standard Webhooks")
    func delivered() async throws {
        let (receiver, sending) = (try Receiver(), try Sending())
        try sending.send("id-1", to: receiver.url("/a?b=c"), #"{"type":"push.done"}"#)
        await sending.wait(for: 1, .sent)
        let request = try #require(receiver.all.first)
        #expect(request.line == "POST /a?b=c HTTP/1.1" && request.body == #"{"type":"push.done"}"#)
        #expect(
            request.fields["content-type"] == "application/json" && request.fields["webhook-id"] == "id-1")
        let seconds = try #require(request.fields["webhook-timestamp"].flatMap { Int64($0) })
        #expect(abs(Double(seconds) - Date().timeIntervalSince1970) < 60)
        let key = try #require(CallbackKey(Self.secret))
        #expect(
            request.fields["webhook-signature"]
                == key.signature(id: "id-1", seconds: seconds, body: Array(request.body.utf8)))
        #expect(sending.sender.owedCount <= 1 && sending.counts[.failed] == 0)
        await sending.sender.stop()
    }

    @Test("tries again after an error, with the same identity")
    func retried() async throws {
        let receiver = try Receiver { number, _ in number < 3 ? Receiver.status(500) : Receiver.ok }
        let sending = try Sending()
        try sending.send("id-1", to: receiver.url())
        await sending.wait(for: 1, .sent)
        #expect(receiver.all.map { $0.fields["webhook-id"] } == ["id-1", "id-1", "id-1"])
        #expect(sending.counts[.failed] == 2 && sending.counts[.abandoned] == 0)
        #expect(sending.lines.all.withLock { $0.contains { $0.contains("status 500") } })
        await sending.sender.stop()
    }

    @Test("follows no redirect")
    func redirect() async throws {
        let target = try Receiver()
        let location = "Location: \(target.url("/secret"))"
        let receiver = try Receiver { _, _ in Receiver.status(307, location) }
        let sending = try Sending()
        try sending.send("id-1", to: receiver.url())
        await sending.wait(for: 2, .failed)
        #expect(target.all.isEmpty)
        await sending.sender.stop()
    }

    @Test("gives up where the receiver says 410")
    func gone() async throws {
        let receiver = try Receiver { _, _ in Receiver.status(410) }
        let sending = try Sending()
        try sending.send("id-1", to: receiver.url())
        await sending.wait(for: 1, .abandoned)
        #expect(
            receiver.all.count == 1 && sending.lines.all.withLock { $0.contains { $0.contains("given up") } })
        await sending.sender.stop()
    }

    @Test("goes on to others while a receiver never answers, and has few requests to that one")
    func silent() async throws {
        let (silent, other) = (try Receiver { _, _ in nil }, try Receiver())
        let sending = try Sending()
        for number in 1...100 { try sending.send("silent-\(number)", to: silent.url()) }
        for number in 1...100 { try sending.send("other-\(number)", to: other.url()) }
        await sending.wait(for: 100, .sent)
        #expect(Set(other.all.compactMap { $0.fields["webhook-id"] }).count == 100)
        // An attempt that has failed made room for another one.
        let begun = silent.all.count
        #expect(begun <= Limits.callbacksUnderWay.each + Int(sending.counts[.failed]))
        await sending.sender.stop()
        #expect(sending.counts[.dropped] == 100)
        #expect(sending.lines.all.withLock { $0.contains { $0.contains("100 callbacks were owed") } })
    }

    @Test("takes only so many messages, and none after it was stopped")
    func bounds() async throws {
        // Nobody listens there.
        let url = try #require(CallbackURL("http://127.0.0.1:1/"))
        let sending = try Sending()
        let many = (0..<Limits.callbacksOwed.each * 2 + 5).map {
            CallbackMessage(id: "\($0)", url: url, body: [])
        }
        sending.sender.send(many)
        await sending.wait(for: UInt64(Limits.callbacksOwed.each + 5), .dropped)
        await sending.wait(for: 1, .failed)
        await sending.sender.stop()
        #expect(sending.counts[.dropped] == UInt64(many.count))
        sending.sender.send(Array(many.prefix(3)))
        #expect(sending.counts[.dropped] == UInt64(many.count + 3))
    }
}
