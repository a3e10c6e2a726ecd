import Dispatch
import Foundation
import PostriderKit
import Testing

/// Shows each line of the page's first section, for code that was written for NSNotificationCenter: the same program
/// runs with the kit and, where Foundation on Linux has the class, with Foundation.
@Suite("NSNotificationCenter's parity")
struct NotificationCenterParityTests {
    private static let lines = registration + removal + posting + values + others

    @Test("is what the page says", .bug(id: "K5"))
    func page() throws {
        #expect(
            try ParityPage.inRepository().disagreements(of: "NSNotificationCenter", with: Self.lines) == [])
    }

    @Test("is shown by code, line by line", arguments: lines)
    func line(_ line: ParityLine) async throws {
        #expect(try await line.isTrue())
    }

    private static let name = NotificationName.shipped
    private static let foundationName = Notification.Name("shipped")

    private final class Screen: Sendable {
        let record = Record()
        func shipped(_ notification: DispatchedNotification) { record.add("shipped") }
        func paid(_ notification: DispatchedNotification) { record.add("paid") }
    }

    private static let registration = [
        ParityLine("`default`, and centers of one's own", "same") {
            let (own, record) = (NotificationDispatcher(), Record())
            let observation = own.addObserver(named: name) { _ in record.add("") }
            NotificationDispatcher.default.post(name: name)
            withExtendedLifetime(observation) {}
            return NotificationDispatcher.default === NotificationDispatcher.default && record.texts.isEmpty
        },
        ParityLine(
            "`addObserver(_:selector:name:object:)`",
            "differs: `addObserver(screen, calling: Screen.shipped, named:sender:)`"
        ) {
            let (dispatcher, record) = (NotificationDispatcher(), Record())
            weak var gone: Screen?
            do {
                let screen = Screen()
                dispatcher.addObserver(screen, calling: Screen.shipped, named: name)
                dispatcher.post(name: name)
                record.texts.isEmpty ? record.add(screen.record.texts.joined()) : ()
                gone = screen
            }
            dispatcher.post(name: name)
            return record.texts == ["shipped"] && gone == nil
        },
        ParityLine("`addObserver(forName:object:queue:using:)` without a queue", "same") {
            let (center, dispatcher) = (NotificationCenter(), NotificationDispatcher())
            let (theirs, ours) = (Record(), Record())
            _ = center.addObserver(forName: foundationName, object: nil, queue: nil) { _ in theirs.add("") }
            _ = dispatcher.addObserver(forName: name, object: nil, queue: nil) { _ in ours.add("") }
            for _ in 0..<2 {
                center.post(name: foundationName, object: nil)
                dispatcher.post(name: name)
            }
            return theirs.texts.count == 2 && ours.texts.count == 2
        },
        ParityLine(
            "the same with a queue",
            "differs: a `DispatchQueue`, such as `.main`; a post does not wait for it"
        ) {
            let (dispatcher, ours) = (NotificationDispatcher(), Record())
            let queue = DispatchQueue(label: "parity")
            queue.suspend()
            let token = dispatcher.addObserver(forName: name, object: nil, queue: queue) { _ in ours.add("") }
            dispatcher.post(name: name)
            let before = ours.texts.count
            queue.resume()
            queue.sync {}
            dispatcher.removeObserver(token)
            let (center, theirs, operations) = (NotificationCenter(), Record(), OperationQueue())
            _ = center.addObserver(forName: foundationName, object: nil, queue: operations) { _ in
                theirs.add("")
            }
            center.post(name: foundationName, object: nil)
            return before == 0 && ours.texts.count == 1 && theirs.texts.count == 1
        },
        ParityLine("nil for any name, nil for any sender", "same") {
            let (center, dispatcher, object) = (NotificationCenter(), NotificationDispatcher(), Sender())
            let (theirs, ours) = (Record(), Record())
            for wanted in [nil, object] {
                _ = center.addObserver(forName: nil, object: wanted, queue: nil) { _ in theirs.add("") }
                _ = dispatcher.addObserver(forName: nil, object: wanted, queue: nil) { _ in ours.add("") }
            }
            for posted in [nil, object] {
                center.post(name: foundationName, object: posted)
                dispatcher.post(name: name, sender: posted)
            }
            return ours.texts.count == 3 && theirs.texts.count == 3
        },
        ParityLine(
            "an observer that nobody removes",
            "differs: it ends when its `Observation` is released; with `forName:` it stays"
        ) {
            let (dispatcher, record) = (NotificationDispatcher(), Record())
            _ = dispatcher.addObserver(named: name) { _ in record.add("own form") }
            _ = dispatcher.addObserver(forName: name, object: nil, queue: nil) { _ in record.add("forName") }
            dispatcher.post(name: name)
            return record.texts == ["forName"]
        },
    ]

    private static let removal = [
        ParityLine("`removeObserver(_:)` with a token, again, or at another center", "same") {
            let (center, dispatcher) = (NotificationCenter(), NotificationDispatcher())
            let (theirs, ours) = (Record(), Record())
            let foreign = center.addObserver(forName: nil, object: nil, queue: nil) { _ in theirs.add("") }
            let token = dispatcher.addObserver(forName: nil, object: nil, queue: nil) { _ in ours.add("") }
            NotificationCenter().removeObserver(foreign)
            NotificationDispatcher().removeObserver(token)
            for _ in 0..<2 {
                center.post(name: foundationName, object: nil)
                dispatcher.post(name: name)
                center.removeObserver(foreign)
                dispatcher.removeObserver(token)
            }
            return theirs.texts.count == 1 && ours.texts.count == 1
        },
        ParityLine("`removeObserver(_:)` with an object", "same") {
            let (dispatcher, screen) = (NotificationDispatcher(), Screen())
            dispatcher.addObserver(screen, calling: Screen.shipped, named: .shipped)
            dispatcher.addObserver(screen, calling: Screen.paid, named: .paid)
            dispatcher.removeObserver(screen)
            dispatcher.post(name: .shipped)
            dispatcher.post(name: .paid)
            return screen.record.texts.isEmpty
        },
        ParityLine("`removeObserver(_:name:object:)`", "differs: `removeObserver(_:named:sender:)`") {
            let (dispatcher, screen) = (NotificationDispatcher(), Screen())
            dispatcher.addObserver(screen, calling: Screen.shipped, named: .shipped)
            dispatcher.addObserver(screen, calling: Screen.paid, named: .paid)
            dispatcher.removeObserver(screen, named: .shipped)
            dispatcher.post(name: .shipped)
            dispatcher.post(name: .paid)
            return screen.record.texts == ["paid"]
        },
        ParityLine(
            "an observer that is removed during a post, before its turn",
            "differs: it is promised that it is not called"
        ) {
            let (dispatcher, record, slot) = (NotificationDispatcher(), Record(), Slot<Observation>())
            let first = dispatcher.addObserver(named: name) { _ in withExtendedLifetime(slot.take()) {} }
            slot.put(dispatcher.addObserver(named: name) { _ in record.add("") })
            dispatcher.post(name: name)
            withExtendedLifetime(first) {}
            return record.texts.isEmpty
        },
    ]

    private static let posting = [
        ParityLine("`post(_:)`", "same") {
            let (center, dispatcher) = (NotificationCenter(), NotificationDispatcher())
            let (theirs, ours) = (Record(), Record())
            let foreign = center.addObserver(forName: foundationName, object: nil, queue: nil) {
                notification in
                theirs.add(notification.name.rawValue)
            }
            let token = dispatcher.addObserver(named: name) { ours.add($0.name.rawValue) }
            center.post(Notification(name: foundationName))
            dispatcher.post(DispatchedNotification(name: name))
            withExtendedLifetime((foreign, token)) {}
            return theirs.texts == ours.texts && ours.texts == ["shipped"]
        },
        ParityLine(
            "`post(name:object:userInfo:)`",
            "differs: `post(name:sender:userInfo:)`; a sender is an object of a class that is `Sendable`"
        ) {
            let (dispatcher, record, sender) = (NotificationDispatcher(), Record(), Sender())
            let token = dispatcher.addObserver(named: name, sender: sender) { notification in
                record.add("\(notification.sender === sender) \(notification.userInfo)")
            }
            dispatcher.post(name: name, sender: sender, userInfo: [:])
            withExtendedLifetime(token) {}
            return record.texts == ["true [:]"]
        },
        ParityLine(
            "a post returns when all observers without a queue have returned, and is theirs to nest", "same"
        ) {
            let (center, dispatcher) = (NotificationCenter(), NotificationDispatcher())
            let (theirs, ours) = (Record(), Record())
            let foreign = center.addObserver(forName: nil, object: nil, queue: nil) { notification in
                if notification.name == foundationName { center.post(name: .init("paid"), object: nil) }
                theirs.add(notification.name.rawValue)
            }
            let token = dispatcher.addObserver { [weak dispatcher] notification in
                if notification.name == name { dispatcher?.post(name: .paid) }
                ours.add(notification.name.rawValue)
            }
            center.post(name: foundationName, object: nil)
            dispatcher.post(name: name)
            center.removeObserver(foreign)
            withExtendedLifetime(token) {}
            return theirs.texts == ours.texts && ours.texts == ["paid", "shipped"]
        },
        ParityLine("the order of the calls", "differs: the order in which they were added is promised") {
            let (dispatcher, record) = (NotificationDispatcher(), Record())
            let tokens = (0..<100).map { number in
                dispatcher.addObserver(named: number % 2 == 0 ? name : nil) { _ in record.add("\(number)") }
            }
            dispatcher.post(name: name)
            withExtendedLifetime(tokens) {}
            return record.texts == (0..<100).map(String.init)
        },
        ParityLine("posts and registrations from any thread", "same") {
            let (center, dispatcher) = (NotificationCenter(), NotificationDispatcher())
            let (theirs, ours) = (Record(), Record())
            let foreign = center.addObserver(forName: nil, object: nil, queue: nil) { _ in theirs.add("") }
            let token = dispatcher.addObserver { _ in ours.add("") }
            DispatchQueue.concurrentPerform(iterations: 50) { _ in
                center.post(name: foundationName, object: nil)
                dispatcher.post(name: name)
            }
            center.removeObserver(foreign)
            withExtendedLifetime(token) {}
            return theirs.texts.count == 50 && ours.texts.count == 50
        },
        ParityLine(
            "a post of a name of the system's",
            "differs: it calls nobody and returns a `PostRefusal`; only the agent posts these"
        ) {
            let (dispatcher, record) = (NotificationDispatcher(), Record())
            let token = dispatcher.addObserver { _ in record.add("") }
            let refusal = dispatcher.post(name: .keyboardWillShow)
            withExtendedLifetime(token) {}
            return record.texts.isEmpty && refusal?.name == .keyboardWillShow
        },
    ]

    private static let values = [
        ParityLine(
            "a name, in an extension of the names", "differs: `NotificationName`, extended in the same way"
        ) {
            NotificationName(rawValue: "shipped") == .shipped
                && Notification.Name("shipped").rawValue == NotificationName.shipped.rawValue
        },
        ParityLine("`object`", "differs: `sender`") {
            let sender = Sender()
            return DispatchedNotification(name: name, sender: sender).sender === sender
                && Notification(name: foundationName, object: sender).object as? Sender === sender
        },
        ParityLine(
            "`userInfo: [AnyHashable: Any]?`",
            "differs: `[String: UserInfoValue]`, in the shape of JSON, never nil"
        ) {
            DispatchedNotification(name: name, userInfo: ["order": 7]).userInfo["order"]?.integer == 7
                && DispatchedNotification(name: name).userInfo.isEmpty
                && Notification(name: foundationName).userInfo == nil
        },
        ParityLine("`Notification` is `Hashable`", "not here: compare the parts") {
            func isEquatable(_ value: Any) -> Bool { value is any Equatable }
            return isEquatable(Notification(name: foundationName))
                && !isEquatable(DispatchedNotification(name: name))
        },
    ]

    private static let others = [
        ParityLine(
            "`notifications(named:object:)`",
            "differs: `notifications(named:sender:)`; a loop confirms what the agent hands over"
        ) {
            let dispatcher = NotificationDispatcher()
            var iterator = dispatcher.notifications(named: name).makeAsyncIterator()
            dispatcher.post(name: name, userInfo: ["order": 1])
            return await iterator.next()?.userInfo["order"] == 1
        },
        ParityLine("`publisher(for:object:)`", "not here: Combine is not on Linux; use a loop") {
            #if canImport(Combine)
            false
            #else
            true
            #endif
        },
        ParityLine(
            "`NotificationQueue`, which coalesces and posts when idle", "not here: every post is a post"
        ) {
            let (dispatcher, record) = (NotificationDispatcher(), Record())
            let token = dispatcher.addObserver(named: name) { _ in record.add("") }
            for _ in 0..<2 { dispatcher.post(name: name) }
            withExtendedLifetime(token) {}
            return record.texts.count == 2
        },
        ParityLine("`DistributedNotificationCenter`", "not here: a dispatcher is its process's own") {
            let (one, other, record) = (NotificationDispatcher(), NotificationDispatcher(), Record())
            let token = other.addObserver { _ in record.add("") }
            one.post(name: name)
            withExtendedLifetime(token) {}
            return record.texts.isEmpty
        },
    ]
}
