import Testing

@testable import PostriderKit

@Suite("A dispatcher's observers")
struct ObserverIndexTests {
    private let dispatcher = NotificationDispatcher()
    private let record = Record()

    @Test("of other names and senders are not looked at by a post, however many there are", .bug(id: "K3"))
    func index() {
        var list = ObserverList()
        let (sender, others) = (Sender(), (0..<100).map { _ in Sender() })
        func add(_ name: String?, _ sender: Sender?) -> UInt64 {
            let name = name.map { NotificationName(rawValue: $0) }
            return list.add(Interest(name: name, sender: sender, scope: nil), owner: nil) { _ in true }
        }
        for number in 0..<10_000 { _ = add("other \(number)", number % 2 == 0 ? sender : nil) }
        for other in others { _ = add("shipped", other) }
        let wanted = [add(nil, nil), add("shipped", sender), add(nil, sender), add("shipped", nil)]
        let notification = DispatchedNotification(name: .shipped, sender: sender)
        #expect(list.candidates(for: notification) == wanted)
        #expect(list.candidates(for: DispatchedNotification(name: .shipped)) == [wanted[0], wanted[3]])
        _ = list.remove(wanted[1])
        #expect(list.numbers(for: notification) == [wanted[0], wanted[2], wanted[3]])
        withExtendedLifetime(others) {}
    }

    @Test("are called in the order in which they were added, whatever they asked for", .bug(id: "K3"))
    func order() {
        let sender = Sender()
        let interests: [(NotificationName?, Sender?)] = [
            (nil, sender), (.shipped, nil), (.shipped, sender), (nil, nil), (.shipped, nil), (nil, sender),
            (.shipped, sender),
        ]
        var observations = interests.enumerated().map { number, interest in
            dispatcher.addObserver(named: interest.0, sender: interest.1) { [record] _ in
                record.add("\(number)")
            }
        }
        dispatcher.post(name: .shipped, sender: sender)
        #expect(record.texts == (0..<7).map(String.init))
        observations.remove(at: 3)
        observations.remove(at: 1)
        dispatcher.post(name: .shipped, sender: sender)
        #expect(record.texts.dropFirst(7) == ["0", "2", "4", "5", "6"])
    }

    @Test("of another dispatcher are not removed, and the attempt does no harm", .bug(id: "K3"))
    func foreignRemoval() {
        let other = NotificationDispatcher()
        let observation = other.addObserver(named: .paid) { [record] _ in record.add("other") }
        let own = dispatcher.addObserver(named: .paid) { [record] _ in record.add("own") }
        dispatcher.removeObserver(observation)
        other.post(name: .paid)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["other", "own"])
        withExtendedLifetime((own, observation)) {}
    }
}

@Suite("What an app cannot do wrong with a dispatcher")
struct DispatcherMisuseTests {
    private let dispatcher = NotificationDispatcher()

    @Test("a sequence takes any limit, and a second iterator has nothing to give", .bug(id: "K3"))
    func sequences() async {
        for limit in [Int.min, -1, 0, Int.max] {
            let notifications = dispatcher.notifications(named: .paid, limit: limit)
            dispatcher.post(name: .paid)
            var (first, second) = (notifications.makeAsyncIterator(), notifications.makeAsyncIterator())
            #expect(await second.next() == nil)
            #expect(await first.next()?.name == .paid)
        }
        #expect(dispatcher.observerCount == 0)
    }

    @Test(
        "a loop's word on a notification that nobody waits for, or on none, changes nothing", .bug(id: "K1"))
    func words() async {
        let notifications = dispatcher.notifications(named: .paid)
        notifications.complete()
        notifications.fail("Nothing was given yet.")
        dispatcher.post(name: .paid, userInfo: ["order": 1])
        dispatcher.post(name: .paid, userInfo: ["order": 2])
        var orders: [Int64?] = []
        for await notification in notifications {
            orders.append(notification.userInfo["order"]?.integer)
            notifications.complete(.failed)
            notifications.complete()
            if orders.count == 2 { break }
        }
        #expect(orders == [1, 2])
    }
}
