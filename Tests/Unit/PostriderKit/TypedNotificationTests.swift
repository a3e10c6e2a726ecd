import PostriderKit
import Testing

/// A typed notification as an app declares it, with its name and keys.
struct Shipped: TypedNotification, Equatable {
    static let name = NotificationName.shipped
    private static let orderKey = "order"

    let order: Int64
    var userInfo: UserInfo { [Self.orderKey: .integer(order)] }

    init(order: Int64) { self.order = order }

    init?(userInfo: UserInfo) {
        guard let order = userInfo[Self.orderKey]?.integer else { return nil }
        self.order = order
    }
}

@Suite("A typed notification")
struct TypedNotificationTests {
    private let dispatcher = NotificationDispatcher()
    private let record = Record()

    static let untyped: [(DispatchedNotification, Shipped?)] = [
        (DispatchedNotification(name: .shipped, userInfo: ["order": 7]), Shipped(order: 7)),
        (DispatchedNotification(name: .shipped, userInfo: ["order": 7, "more": true]), Shipped(order: 7)),
        (DispatchedNotification(name: .shipped, userInfo: ["order": "7"]), nil),
        (DispatchedNotification(name: .shipped), nil),
        (DispatchedNotification(name: .paid, userInfo: ["order": 7]), nil),
    ]

    @Test("is the untyped one of its name, where that says what it must", arguments: untyped.indices)
    func conversion(_ index: Int) {
        let (untyped, typed) = Self.untyped[index]
        #expect(untyped.typed(as: Shipped.self) == typed)
    }

    @Test("becomes an untyped one with its name, and back")
    func roundTrip() {
        let sender = Sender()
        let untyped = DispatchedNotification(Shipped(order: 9), sender: sender)
        #expect(untyped.name == .shipped && untyped.sender === sender)
        #expect(untyped.userInfo == ["order": 9])
        #expect(untyped.typed() == Shipped(order: 9))
    }

    @Test("is given to typed and untyped observers, whoever posts it in whatever form")
    func observers() async {
        let sender = Sender()
        let observations = [
            dispatcher.addObserver(of: Shipped.self) { [record] in record.add("typed \($0.order)") },
            dispatcher.addObserver(named: .shipped) { [record] in record.add("plain \($0.userInfo.count)") },
            dispatcher.addObserver(of: Shipped.self, sender: sender) { [record] _ in record.add("sender") },
        ]
        var sequence = dispatcher.notifications(of: Shipped.self).makeAsyncIterator()
        dispatcher.post(Shipped(order: 1), sender: sender)
        dispatcher.post(name: .shipped, userInfo: ["order": 2])
        dispatcher.post(name: .shipped)
        #expect(record.texts == ["typed 1", "plain 1", "sender", "typed 2", "plain 1", "plain 0"])
        #expect(await sequence.next()?.order == 1)
        #expect(await sequence.next()?.order == 2)
        withExtendedLifetime(observations) {}
    }
}
