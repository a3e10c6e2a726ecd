import PostriderKit
import Testing

@Suite("A notification dispatcher")
struct NotificationDispatcherTests {
    private let dispatcher = NotificationDispatcher()
    private let record = Record()

    @Test("gives name, sender and user info to the observers, in the order in which they came")
    func delivery() {
        let sender = Sender()
        let observations = (1...3).map { number in
            dispatcher.addObserver(named: .shipped) { [record] notification in
                #expect(notification.name == .shipped)
                #expect(notification.sender === sender)
                record.add("\(number) \(notification.userInfo["order"]?.integer ?? 0)")
            }
        }
        dispatcher.post(name: .shipped, sender: sender, userInfo: ["order": 7])
        dispatcher.post(name: .paid, sender: sender)
        #expect(record.texts == ["1 7", "2 7", "3 7"])
        withExtendedLifetime(observations) {}
    }

    @Test("gives an observer what it asked for and nothing else")
    func filters() {
        let (one, other) = (Sender(), Sender())
        let observations = [
            dispatcher.addObserver { [record] _ in record.add("all") },
            dispatcher.addObserver(named: .paid) { [record] _ in record.add("paid") },
            dispatcher.addObserver(sender: one) { [record] _ in record.add("one") },
            dispatcher.addObserver(named: .paid, sender: one) { [record] _ in record.add("paid by one") },
        ]
        let posts: [(NotificationName, Sender?, [String])] = [
            (.paid, one, ["all", "paid", "one", "paid by one"]), (.paid, other, ["all", "paid"]),
            (.paid, nil, ["all", "paid"]), (.shipped, one, ["all", "one"]), (.shipped, nil, ["all"]),
        ]
        var expected: [String] = []
        for (name, sender, called) in posts {
            dispatcher.post(name: name, sender: sender)
            expected += called
            #expect(record.texts == expected)
        }
        withExtendedLifetime(observations) {}
    }

    @Test("keeps no sender alive, and takes no other object for one that is gone")
    func goneSender() {
        var sender: Sender? = Sender()
        weak let observed = sender
        let observation = dispatcher.addObserver(sender: sender) { [record] _ in record.add("called") }
        sender = nil
        #expect(observed == nil)
        for _ in 0..<1000 { dispatcher.post(name: .paid, sender: Sender()) }
        #expect(record.texts.isEmpty)
        withExtendedLifetime(observation) {}
    }

    @Test("forgets an observer, and what it holds, when its observation is released or removed")
    func removal() {
        var first: Observation? = hold("first")
        let second = hold("second")
        dispatcher.post(name: .paid)
        first = nil
        dispatcher.post(name: .paid)
        dispatcher.removeObserver(second)
        dispatcher.removeObserver(second)
        dispatcher.post(name: .paid)
        #expect(first == nil)
        #expect(record.texts == ["first", "second", "first gone", "second", "second gone"])
    }

    private func hold(_ name: String) -> Observation {
        let farewell = Farewell { [record] in record.add("\(name) gone") }
        return dispatcher.addObserver { [record] _ in withExtendedLifetime(farewell) { record.add(name) } }
    }

    @Test("does not call an observer that an earlier one removed in the same post")
    func removalDuringPost() {
        let slot = Slot<Observation>()
        let first = dispatcher.addObserver { [record] _ in
            record.add("first")
            withExtendedLifetime(slot.take()) {}
        }
        slot.put(dispatcher.addObserver { [record] _ in record.add("second") })
        let third = dispatcher.addObserver { [record] _ in record.add("third") }
        dispatcher.post(name: .paid)
        #expect(record.texts == ["first", "third"])
        withExtendedLifetime((first, third)) {}
    }

    @Test("lets an observer remove itself while it runs")
    func selfRemoval() {
        let slot = Slot<Observation>()
        slot.put(
            dispatcher.addObserver { [record] _ in
                record.add("once")
                withExtendedLifetime(slot.take()) {}
            }
        )
        dispatcher.post(name: .paid)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["once"])
    }

    @Test("calls an observer that was added during a post for the next one")
    func additionDuringPost() {
        let slot = Slot<Observation>()
        let first = dispatcher.addObserver { [dispatcher, record] _ in
            record.add("first")
            slot.put(dispatcher.addObserver { [record] _ in record.add("second") })
        }
        dispatcher.post(name: .paid)
        #expect(record.texts == ["first"])
        dispatcher.removeObserver(first)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["first", "second"])
    }

    @Test("lets an observer post, and be called again by it")
    func reentrance() {
        let observations = [
            dispatcher.addObserver { [dispatcher, record] notification in
                record.add("a \(notification.name)")
                if notification.name == .paid { dispatcher.post(name: .shipped) }
            },
            dispatcher.addObserver { [record] notification in record.add("b \(notification.name)") },
        ]
        dispatcher.post(name: .paid)
        #expect(record.texts == ["a paid", "a shipped", "b shipped", "b paid"])
        withExtendedLifetime(observations) {}
    }

    @Test("holds no lock while what an observer held is released")
    func releaseOutsideOfLock() {
        let all = dispatcher.addObserver { [record] notification in record.add("\(notification.name)") }
        var observation: Observation? = addObserver(
            holding: Farewell { [dispatcher] in dispatcher.post(name: .paid) })
        dispatcher.post(name: .shipped)
        #expect(observation != nil)
        observation = nil
        #expect(record.texts == ["shipped", "paid"])
        withExtendedLifetime(all) {}
    }

    private func addObserver(holding farewell: Farewell) -> Observation {
        dispatcher.addObserver { _ in withExtendedLifetime(farewell) {} }
    }
}

@Suite("A notification dispatcher's sequence")
struct NotificationSequenceTests {
    private let dispatcher = NotificationDispatcher()

    @Test("has every notification that is posted after it was asked for")
    func sequence() async {
        let notifications = dispatcher.notifications(named: .paid)
        for order in 1...3 { dispatcher.post(name: .paid, userInfo: ["order": .integer(Int64(order))]) }
        dispatcher.post(name: .shipped)
        var orders: [Int64?] = []
        for await notification in notifications {
            orders.append(notification.userInfo["order"]?.integer)
            if orders.count == 3 { break }
        }
        #expect(orders == [1, 2, 3])
    }

    @Test("loses the oldest where nobody takes them")
    func bound() async {
        var iterator = dispatcher.notifications(limit: 2).makeAsyncIterator()
        for order in 1...5 { dispatcher.post(name: .paid, userInfo: ["order": .integer(Int64(order))]) }
        #expect(await iterator.next()?.userInfo["order"] == 4)
        #expect(await iterator.next()?.userInfo["order"] == 5)
    }

    @Test("observes no longer once nobody holds it")
    func release() async {
        weak var observed: NotificationDispatcher?
        do {
            let dispatcher = NotificationDispatcher()
            observed = dispatcher
            var iterator = dispatcher.notifications().makeAsyncIterator()
            dispatcher.post(name: .paid)
            #expect(await iterator.next()?.name == .paid)
            _ = dispatcher.notifications()
        }
        #expect(observed == nil)
    }

    @Test("ends when its task is cancelled")
    func cancellation() async {
        let notifications = dispatcher.notifications(named: .paid)
        let task = Task { await notifications.reduce(into: 0) { count, _ in count += 1 } }
        task.cancel()
        #expect(await task.value == 0)
    }
}

@Suite("A notification dispatcher under load")
struct NotificationDispatcherLoadTests {
    @Test("loses nothing while threads post, add and remove at once")
    func threads() async {
        let dispatcher = NotificationDispatcher()
        let (posts, tasks) = (500, 8)
        let witness = Record()
        let steady = dispatcher.addObserver(named: .paid) { _ in witness.add("") }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for _ in 0..<posts { dispatcher.post(name: .paid) }
                }
                group.addTask {
                    for _ in 0..<posts {
                        let passing = dispatcher.addObserver { _ in }
                        dispatcher.post(name: .shipped)
                        dispatcher.removeObserver(passing)
                    }
                }
            }
        }
        #expect(witness.texts.count == posts * tasks)
        withExtendedLifetime(steady) {}
    }
}
