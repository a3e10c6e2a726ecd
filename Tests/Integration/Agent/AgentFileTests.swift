import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderAgent

/// Databases that earlier versions of the agent wrote.
@Suite("The agent's database")
struct AgentFileTests {
    private let scratch = Scratch()
    private let now = Moment(milliseconds: 1)

    private func arrival(_ identity: UInt64) -> Inbox.Arrival {
        Inbox.Arrival(app: 1, parcel: .remote(.sample(0, identity: identity)))
    }

    @Test("of before arrivals lost their moments keeps what was seen, and what waits")
    func seenWithMoments() throws {
        let path = scratch.path + "/agent.sqlite"
        let (waiting, handled, new) = (arrival(1), arrival(2), arrival(3))
        do {
            let steps = Array(AgentFile.schema.steps[..<6])
            let earlier = try Database(
                path: path,
                schema: Schema(
                    applicationIdentifier: AgentFile.schema.applicationIdentifier, steps: steps))
            try earlier.execute(
                "INSERT INTO apps(number, topic, user, is_wanted) VALUES (1, 'com.example.one', 7, 1)")
            let see = try earlier.prepare(
                "INSERT INTO seen(row, app, identity, received_at) VALUES (?, 1, ?, 9)")
            for (row, arrival) in [(4, waiting), (5, handled)] as [(Int64, Inbox.Arrival)] {
                see.bind(row)
                see.bind(arrival.parcel.identity.bytes)
                try see.run()
            }
            let append = try earlier.prepare(
                "INSERT INTO inbox(row, app, priority, message) VALUES (4, 1, 10, ?)")
            append.bind(waiting.parcel.bytes)
            try append.run()
        }
        for round in 1...2 {
            let file = try AgentFile(path: path)
            let columns = try file.database.prepare("SELECT count(*) FROM pragma_table_info('seen')")
            while try columns.step() { #expect(columns.integer(0) == 5) }
            var found: [Int64: NotificationIdentity] = [:]
            try file.inbox.forEachPending(of: 1, after: 0) { row, parcel in
                found[row] = parcel.identity
                return true
            }
            #expect(found[4] == waiting.parcel.identity && found.count == round)
            // The old database has no fingerprint of a handled notification, so it cannot tell it from another push
            // with the same `apns-id`: the notification is delivered once more.
            let outcome = try file.inbox.commit([waiting, handled], handled: [], now: now)
            #expect(outcome == Inbox.Outcome(stored: 2 - round, repeated: round))
        }
        let outcome = try AgentFile(path: path).inbox.commit([new], handled: [], now: now)
        #expect(outcome == Inbox.Outcome(stored: 1))
    }
}
