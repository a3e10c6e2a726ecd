import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage
import Testing

@testable import PostriderAgent

/// A model of the inbox: the set of known notifications, and the list of waiting ones.
private struct InboxModel {
    struct Waiting: Equatable {
        let app: Int64
        let identity: UInt64
        var text = "{}"
        let priority: Priority
    }

    private var seen: Set<[UInt64]> = []
    private(set) var waiting: [Waiting] = []

    mutating func arrive(_ arrival: Inbox.Arrival) -> Bool {
        let (app, parcel) = (arrival.app, arrival.parcel)
        guard case .remote(let deliver) = parcel else { return false }
        // A push is recognised by its content, not by its `apns-id` alone.
        let content = deliver.payload.map { UInt64($0) }
        guard seen.insert([UInt64(app), parcel.identity.low] + content).inserted else { return false }
        waiting.append(
            Waiting(
                app: app, identity: parcel.identity.low,
                text: String(decoding: deliver.payload, as: UTF8.self),
                priority: parcel.priority))
        return true
    }

    mutating func handle(_ app: Int64, _ identity: UInt64, _ text: String) {
        waiting.removeAll { $0.app == app && $0.identity == identity && $0.text == text }
    }

    /// Drops the oldest notifications of the lowest priority.
    mutating func bound(_ app: Int64, to limit: Int) -> Int {
        let mine = waiting.enumerated().filter { $0.element.app == app }
        let victims = mine.sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
            .prefix(max(0, mine.count - limit)).map(\.offset)
        waiting = waiting.enumerated().filter { !victims.contains($0.offset) }.map(\.element)
        return victims.count
    }
}

@Suite("An inbox")
struct InboxTests {
    private let files: StateFixture
    private let now = Moment(milliseconds: 1_800_000_000_000)
    private var inbox: Inbox { files.state.inbox }

    init() throws { files = try StateFixture() }

    private func pending(_ app: Int64) throws -> [(row: Int64, identity: UInt64, text: String)] {
        var found: [(row: Int64, identity: UInt64, text: String)] = []
        try inbox.forEachPending(of: app, after: 0) { row, parcel in
            // The `apns-id`; of two pushes with the same one, the later gets another identity.
            if case .remote(let deliver) = parcel {
                found.append(
                    (row, deliver.apnsIdentity.low, String(decoding: deliver.payload, as: UTF8.self)))
            }
            return true
        }
        return found
    }

    private func arrival(
        _ app: Int64, _ identity: UInt64, _ priority: Priority = .immediate, text number: Int? = nil
    ) -> Inbox.Arrival {
        let payload = number.map { #"{"text":\#($0)}"# } ?? "{}"
        return Inbox.Arrival(
            app: app,
            parcel: .remote(.sample(0, identity: identity, priority: priority, payload: payload)))
    }

    @Test(
        "does what its model does, whatever comes and whenever it is killed", .bug(id: "R6"),
        arguments: 1...4 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var model = InboxModel()
        for _ in 0..<100 {
            var handled: [Int64] = []
            for app in 1...3 as ClosedRange<Int64> {
                guard Bool.random(using: &dice), let one = try pending(app).randomElement(using: &dice) else {
                    continue
                }
                handled.append(one.row)
                model.handle(app, one.identity, one.text)
            }
            let arrivals = (0..<Int.random(in: 0...5, using: &dice)).map { _ in
                arrival(
                    .random(in: 1...3, using: &dice), .random(in: 0..<60, using: &dice),
                    text: .random(in: 0..<4, using: &dice))
            }
            let outcome = try inbox.commit(arrivals, handled: handled, now: now)
            let stored = arrivals.count { model.arrive($0) }
            #expect(outcome == Inbox.Outcome(stored: stored, repeated: arrivals.count - stored))
            if Int.random(in: 0..<10, using: &dice) == 0 { try files.kill() }
            for app in 1...3 as ClosedRange<Int64> {
                let expected = model.waiting.filter { $0.app == app }
                #expect(try pending(app).map(\.identity) == expected.map(\.identity))
                #expect(try pending(app).map(\.text) == expected.map(\.text))
            }
        }
    }

    @Test("drops the oldest of lowest priority when an app's part of it is full, and tells how many")
    func full() throws {
        var model = InboxModel()
        let arrivals = (0..<UInt64(Limits.inboxPerTopic) + 60).map { number in
            arrival(1, number, number.isMultiple(of: 20) ? .low : .immediate)
        }
        for arrival in arrivals { _ = model.arrive(arrival) }
        let outcome = try inbox.commit(arrivals + [arrival(2, 1)], handled: [], now: now)
        #expect(outcome.dropped == [1: model.bound(1, to: Limits.inboxPerTopic)])
        #expect(outcome.dropped == [1: 60])
        #expect(try pending(1).map(\.identity) == model.waiting.map(\.identity))
        #expect(try pending(2).map(\.identity) == [1])
    }

    @Test("knows a second copy after the first was handled, for as long as its bounds say")
    func memory() throws {
        let first = arrival(1, 1)
        _ = try inbox.commit([first], handled: [], now: now)
        _ = try inbox.commit([], handled: try pending(1).map(\.row), now: now)
        try files.kill()
        #expect(
            try inbox.commit([first, arrival(2, 1)], handled: [], now: now)
                == Inbox.Outcome(stored: 1, repeated: 1))

        for start in stride(from: 2, to: UInt64(Limits.seenPerTopic), by: 512) {
            _ = try inbox.commit((start..<start + 512).map { arrival(1, $0) }, handled: [], now: now)
        }
        #expect(try inbox.commit([first], handled: [], now: now).stored == 1)
    }

    @Test("knows a second copy whatever the clock was set to meanwhile", arguments: [-20_000, 400])
    func clock(_ days: Int64) throws {
        _ = try inbox.commit([arrival(1, 1)], handled: [], now: now)
        let other = now.advanced(byMilliseconds: days * 86_400_000)
        _ = try inbox.commit([arrival(1, 2)], handled: [], now: other)
        try files.kill()
        let copies = [arrival(1, 1), arrival(1, 2)]
        #expect(try inbox.commit(copies, handled: [], now: now).repeated == 2)
    }

    @Test("gives back every part of a notification")
    func content() throws {
        let deliver = Deliver(
            delivery: 3,
            identity: NotificationIdentity(high: 1, low: 2),
            topic: "com.example.one",
            payload: Array(#"{"aps":{"alert":"é"}}"#.utf8),
            priority: .considerate,
            expiration: .at(Moment(milliseconds: 5)),
            collapseIdentifier: "score",
            pushType: "alert",
            acceptedAt: Moment(milliseconds: 4)
        )
        _ = try inbox.commit([Inbox.Arrival(app: 1, parcel: .remote(deliver))], handled: [], now: now)
        try files.kill()
        var found: [InboxContent] = []
        try inbox.forEachPending(of: 1, after: 0) { _, parcel in
            found.append(parcel)
            return true
        }
        #expect(found == [.remote(deliver)])
    }

    /// Makes a push as the relay sends it, with the relay's number of the push.
    private func push(
        _ number: UInt64, payload: String = "{}", priority: Priority = .immediate, pushType: String? = nil,
        collapse: String? = nil, expiration: Expiration = .at(Moment(milliseconds: 9)), acceptedAt: Int64 = 1,
        identity: UInt64 = 5
    ) -> Deliver {
        Deliver(
            delivery: number, identity: NotificationIdentity(high: 7, low: identity),
            topic: "com.example.one",
            payload: Array(payload.utf8), priority: priority, expiration: expiration,
            collapseIdentifier: collapse, pushType: pushType,
            acceptedAt: Moment(milliseconds: acceptedAt), wantsReport: true, push: number)
    }

    @Test(
        "takes pushes with one apns-id for the same only if they are: payload and every header",
        .bug(id: "R6"))
    func namesakes() throws {
        let pushes = [
            push(1), push(2, payload: #"{"a":1}"#), push(3, priority: .low), push(4, pushType: "alert"),
            push(5, collapse: "c"), push(6, expiration: .nowOrNever),
            push(7, expiration: .at(Moment(milliseconds: 10))), push(8, identity: 6),
        ]
        let arrivals = pushes.map { Inbox.Arrival(app: 1, parcel: .remote($0)) }
        let outcome = try inbox.commit(arrivals, handled: [], now: now)
        #expect(outcome == Inbox.Outcome(stored: pushes.count))
        try files.kill()
        var found: [Deliver] = []
        try inbox.forEachPending(of: 1, after: 0) { _, parcel in
            if case .remote(let deliver) = parcel { found.append(deliver) }
            return true
        }
        // All pushes are there, each with its own identity and its `apns-id`.
        #expect(found.map(\.push) == pushes.map(\.push))
        #expect(found.map(\.payload) == pushes.map(\.payload))
        #expect(Set(found.map(\.identity)).count == pushes.count)
        #expect(found.map(\.apnsIdentity) == pushes.map(\.identity))
        #expect(
            found.first?.identity == pushes.first?.identity && found.last?.identity == pushes.last?.identity)
        // None is stored again, neither over a new link nor after it was handled.
        _ = try inbox.commit([], handled: try pending(1).map(\.row), now: now)
        let again = try inbox.commit(arrivals, handled: [], now: now)
        #expect(again == Inbox.Outcome(repeated: pushes.count))
    }

    @Test("tells which pushes were sent twice by their provider, and not which came twice", .bug(id: "R6"))
    func merging() throws {
        let latest = { (moment: Int64) in
            Expiration.at(Moment(milliseconds: moment + Limits.storedDays * 24 * 60 * 60 * 1000))
        }
        // Without the `apns-expiration`, which is relative to the time of acceptance.
        let (first, retry) = (
            push(1, expiration: latest(1), acceptedAt: 1), push(4, expiration: latest(77), acceptedAt: 77)
        )
        let (other, otherRetry) = (push(2, payload: #"{"a":1}"#), push(5, payload: #"{"a":1}"#))
        func commit(_ delivers: Deliver...) throws -> Inbox.Outcome {
            try inbox.commit(
                delivers.map { Inbox.Arrival(app: 1, parcel: .remote($0)) }, handled: [], now: now)
        }
        #expect(try commit(first, other) == Inbox.Outcome(stored: 2))
        // The link was lost before the acknowledgement.
        #expect(try commit(first, other) == Inbox.Outcome(repeated: 2))
        let merged = [
            MergedPush(push: ReportedPush(identity: retry.identity, push: 4), other: 1),
            MergedPush(push: ReportedPush(identity: otherRetry.identity, push: 5), other: 2),
        ]
        #expect(try commit(retry, otherRetry) == Inbox.Outcome(repeated: 2, merged: merged))
    }

    @Test("belongs to one process")
    func ownership() throws {
        #expect(throws: StoreError.self) { try AgentState(directory: files.scratch.state, log: .none) }
    }
}

@Suite("The register of apps")
struct AppRegisterTests {
    private let files: StateFixture
    private var apps: AppRegister { files.state.apps }

    init() throws { files = try StateFixture() }

    @Test("is the same after a kill")
    func restart() throws {
        let topics = try ["com.example.one", "com.example.two"].map { try #require(Topic($0)) }
        var one = try apps.add(topics[0], user: 1000)
        _ = try apps.add(topics[1], user: 4_000_000_000, in: .development)
        one.token = .sample(1)
        try apps.put(one)
        let before = apps.records
        try files.kill()
        #expect(apps.records == before)
        #expect(apps[topics[0].text]?.token == .sample(1))
        #expect(apps.wanted == [topics[0].text: .production, topics[1].text: .development])
    }

    @Test("drops what waits for an app that is no longer wanted, and with the app all trace of it")
    func removal() throws {
        var app = try apps.add(try #require(Topic("com.example.one")), user: 1)
        let arrival = Inbox.Arrival(app: app.number, parcel: .remote(.sample(0, identity: 1)))
        _ = try files.state.inbox.commit([arrival], handled: [], now: Moment(milliseconds: 1))
        app.isWanted = false
        try apps.put(app)
        #expect(apps.unwanted == ["com.example.one"])
        var waiting = 0
        try files.state.inbox.forEachPending(of: app.number, after: 0) { _, _ in
            waiting += 1
            return true
        }
        #expect(waiting == 0)
        try apps.remove(app)
        try files.kill()
        #expect(apps.records.isEmpty)
        #expect(try apps.add(app.topic, user: 2).number != app.number)
    }

    @Test("keeps who the device is")
    func device() throws {
        #expect(try files.state.device() == nil)
        let device = EnrollResponse(
            deviceIdentity: DeviceIdentity(high: 1, low: 2), deviceSecret: Array(repeating: 3, count: 32))
        try files.state.setDevice(device)
        try files.kill()
        #expect(try files.state.device() == device)
    }
}
