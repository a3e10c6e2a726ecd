import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The events of devices")
struct DeviceEventFeedTests {
    private let event = Control.DeviceEvent(
        what: .away, at: 5, identity: "1", name: "a", address: "::1", agent: "b/1", ending: "cut")

    @Test("come as server-sent events, numbered, to each that follows")
    func text() {
        let feed = DeviceEventFeed(PresenceExchange())
        var texts = ["", ""]
        for index in 0...1 {
            _ = feed.follow { bytes in
                texts[index] += String(decoding: bytes, as: UTF8.self)
                return true
            }
        }
        feed.take([event, event])
        let data =
            #"{"address":"::1","agent":"b/1","at":5,"ending":"cut","identity":"1","name":"a","what":"away"}"#
        let both = "event: away\nid: 1\ndata: \(data)\n\nevent: away\nid: 2\ndata: \(data)\n\n"
        #expect(texts == [both, both])
    }

    @Test("are collected by shards only while somebody follows")
    func listeners() {
        let exchange = PresenceExchange()
        let feed = DeviceEventFeed(exchange)
        #expect(!exchange.hasListeners)
        let first = feed.follow { _ in true }
        _ = feed.follow { _ in false }
        feed.take([event])
        #expect(exchange.hasListeners)
        feed.leave(first ?? 0)
        feed.leave(first ?? 0)
        #expect(!exchange.hasListeners)
    }

    @Test("can be followed by so many")
    func bound() {
        let feed = DeviceEventFeed(PresenceExchange())
        for _ in 0..<Limits.eventStreams { #expect(feed.follow { _ in true } != nil) }
        #expect(feed.follow { _ in true } == nil)
    }
}
