import Foundation
import PostriderCrypto
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The control handler")
struct ControlHandlerTests {
    /// A handler of the operator's calls, with the status of each answer in the order of the answers.
    private final class Counter {
        let fixture: DeviceFixture
        let handler: ControlHandler
        private(set) var statuses: [String: Int] = [:]
        private(set) var order: [String] = []

        init() throws {
            fixture = try DeviceFixture()
            let shard = fixture.shard
            handler = ControlHandler(Registry(), shard.context, shard.changes, shard.queries)
        }

        func ask(_ name: String, _ method: String, _ path: String, _ body: String = "") throws {
            handler.handle(method, path, body: Array(body.utf8)) { [unowned self] answer in
                statuses[name] = answer.status
                order.append(name)
            }
            try fixture.run()
        }
    }

    @Test("judges a change by what is there when those before it are on the disk")
    func turns() throws {
        let counter = try Counter()
        try counter.ask("first", "PUT", "/v1/enrolment-keys/K")
        try counter.ask("second", "PUT", "/v1/enrolment-keys/K")
        try counter.ask("third", "DELETE", "/v1/enrolment-keys/K")
        try counter.ask("fourth", "PUT", "/v1/enrolment-keys/K")
        #expect(counter.statuses.isEmpty)
        for _ in 0..<3 { try counter.fixture.commit() }
        #expect(counter.order == ["first", "second", "third", "fourth"])
        #expect(counter.statuses == ["first": 200, "second": 409, "third": 200, "fourth": 200])
    }

    @Test("says that there is no trace where nothing is traced")
    func noTrace() throws {
        let counter = try Counter()
        try counter.ask("search", "GET", "/v1/trace?last=1")
        try counter.ask("follow", "GET", "/v1/trace?follow")
        #expect(counter.statuses == ["search": 404, "follow": 404])
    }

    @Test("goes on after a change that the disk refused, and forgets it")
    func failure() throws {
        let counter = try Counter()
        try counter.ask("first", "PUT", "/v1/enrolment-keys/K")
        try counter.ask("second", "PUT", "/v1/enrolment-keys/K")
        try counter.fixture.commit(isDurable: false)
        #expect(counter.statuses == ["first": 503])
        try counter.fixture.commit()
        #expect(counter.statuses == ["first": 503, "second": 200])
    }

    @Test("accepts one of two keys of an identifier that come at the same time")
    func keys() throws {
        let counter = try Counter()
        func addition() throws -> String {
            let key = ES256.PrivateKey.generate().publicKey.pem
            let message = Control.ProviderKeyAddition(team: "TEAM", publicKey: key)
            return String(decoding: try JSONEncoder().encode(message), as: UTF8.self)
        }
        try counter.ask("one", "PUT", "/v1/keys/K", try addition())
        try counter.ask("other", "PUT", "/v1/keys/K", try addition())
        for _ in 0..<2 { try counter.fixture.commit() }
        #expect(counter.statuses == ["one": 200, "other": 409])
    }
}
