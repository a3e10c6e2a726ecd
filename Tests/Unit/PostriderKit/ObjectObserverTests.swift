import Synchronization
import Testing

@testable import PostriderKit

/// An object of an app whose methods are observers.
private final class Screen: Sendable {
    private let record: Record
    private let farewell: @Sendable (Screen) -> Void

    init(_ record: Record, farewell: @escaping @Sendable (Screen) -> Void = { _ in }) {
        self.record = record
        self.farewell = farewell
    }

    func show(_ notification: DispatchedNotification) { record.add("show \(notification.name)") }
    func count(_ notification: DispatchedNotification) { record.add("count \(notification.name)") }

    deinit { farewell(self) }
}

/// An object that releases itself when it is called.
private final class Guest: Sendable {
    private let dispatcher: NotificationDispatcher
    private let slot: Slot<Guest>
    private let record: Record

    init(_ dispatcher: NotificationDispatcher, _ slot: Slot<Guest>, _ record: Record) {
        self.dispatcher = dispatcher
        self.slot = slot
        self.record = record
    }

    func leave(_ notification: DispatchedNotification) {
        _ = slot.take()
        record.add("called")
    }

    deinit {
        dispatcher.removeObserver(self)
        record.add("gone")
    }
}

@Suite("A dispatcher that calls methods of objects")
struct ObjectObserverTests {
    private let dispatcher = NotificationDispatcher()
    private let record = Record()

    @Test("keeps no object alive, and calls it as long as it is there, in its place among the others")
    func weakness() {
        let before = dispatcher.addObserver { [record] _ in record.add("before") }
        var screen: Screen? = Screen(record)
        weak let observed = screen
        if let screen { dispatcher.addObserver(screen, calling: Screen.show, named: .paid) }
        let after = dispatcher.addObserver { [record] _ in record.add("after") }
        dispatcher.post(name: .paid)
        dispatcher.post(name: .shipped)
        #expect(record.texts == ["before", "show paid", "after", "before", "after"])
        screen = nil
        #expect(observed == nil)
        dispatcher.post(name: .paid)
        #expect(record.texts.suffix(2) == ["before", "after"])
        #expect(dispatcher.observerCount == 2)
        withExtendedLifetime((before, after)) {}
    }

    static let removals: [(name: NotificationName?, isSenderGiven: Bool, left: [String])] = [
        (nil, false, []),
        (.paid, false, ["count shipped"]),
        (.shipped, false, ["show paid", "count paid"]),
        (nil, true, ["show paid", "count shipped"]),
        (.paid, true, ["show paid", "count shipped"]),
        (.shipped, true, ["show paid", "count paid", "count shipped"]),
    ]

    @Test("forgets what was added for a name and a sender, or all", arguments: removals.indices)
    func removal(_ index: Int) {
        let (name, isSenderGiven, left) = Self.removals[index]
        let (screen, other, sender) = (Screen(record), Screen(Record()), Sender())
        dispatcher.addObserver(screen, calling: Screen.show, named: .paid)
        dispatcher.addObserver(screen, calling: Screen.count, named: .paid, sender: sender)
        dispatcher.addObserver(screen, calling: Screen.count, named: .shipped)
        dispatcher.addObserver(other, calling: Screen.count)
        dispatcher.removeObserver(screen, named: name, sender: isSenderGiven ? sender : nil)
        dispatcher.post(name: .paid, sender: sender)
        dispatcher.post(name: .shipped, sender: sender)
        #expect(record.texts == left)
        withExtendedLifetime(other) {}
    }

    @Test("does not call an object that an earlier observer has let go, or has removed, in the same post")
    func duringPost() {
        let (first, second) = (Slot<Screen>(), Slot<Screen>())
        let observation = dispatcher.addObserver { [dispatcher, record] _ in
            record.add("first")
            _ = first.take()
            if let screen = second.take() { dispatcher.removeObserver(screen) }
        }
        for slot in [first, second] {
            let screen = Screen(record)
            slot.put(screen)
            dispatcher.addObserver(screen, calling: Screen.show)
        }
        dispatcher.post(name: .paid)
        #expect(record.texts == ["first"])
        withExtendedLifetime(observation) {}
    }

    @Test("lets an object remove itself as it goes, though the post holds the last reference to it")
    func removalWhileReleased() {
        let slot = Slot<Guest>()
        invite(into: slot)
        dispatcher.post(name: .paid)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["called", "gone"])
        #expect(dispatcher.observerCount == 0)
    }

    private func invite(into slot: Slot<Guest>) {
        let guest = Guest(dispatcher, slot, record)
        slot.put(guest)
        dispatcher.addObserver(guest, calling: Guest.leave, named: .paid)
    }

    @Test("gives back the room of objects that are gone, though nobody posts")
    func sweep() {
        let steady = Screen(record)
        dispatcher.addObserver(steady, calling: Screen.show)
        for _ in 0..<10_000 { dispatcher.addObserver(Screen(record), calling: Screen.show) }
        #expect(dispatcher.observerCount < 200)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["show paid"])
    }
}

@Suite("A scope of observers")
struct NotificationScopeTests {
    private let dispatcher = NotificationDispatcher()
    private let record = Record()

    @Test("keeps its observers from being called while it is off, in whatever form they observe")
    func switching() async {
        let scope = NotificationScope()
        let screen = Screen(record)
        let observations = [
            dispatcher.addObserver(in: scope) { [record] _ in record.add("closure") },
            dispatcher.addObserver { [record] _ in record.add("other") },
        ]
        dispatcher.addObserver(screen, calling: Screen.show, in: scope)
        var sequence = dispatcher.notifications(in: scope).makeAsyncIterator()
        dispatcher.post(name: .paid)
        scope.switchOff()
        dispatcher.post(name: .shipped)
        scope.switchOn()
        dispatcher.post(name: .paid)
        #expect(
            record.texts == [
                "closure", "other", "show paid", "other", "closure", "other", "show paid",
            ])
        #expect(await sequence.next()?.name == .paid)
        #expect(await sequence.next()?.name == .paid)
        withExtendedLifetime(observations) {}
    }

    @Test("is off while what it is a part of is")
    func parts() {
        let window = NotificationScope()
        let screen = NotificationScope(isOn: false, partOf: window)
        let states: [(change: () -> Void, isOn: Bool)] = [
            ({}, false), (screen.switchOn, true), (window.switchOff, false), (screen.switchOff, false),
            (window.switchOn, false), (screen.switchOn, true),
        ]
        for (change, isOn) in states {
            change()
            #expect(screen.isOn == isOn)
        }
    }

    @Test("that is switched off during a post silences the rest of it; switched on, it counts from the next")
    func duringPost() {
        let (closing, opening) = (NotificationScope(), NotificationScope(isOn: false))
        let observations = [
            dispatcher.addObserver { _ in
                closing.switchOff()
                opening.switchOn()
            },
            dispatcher.addObserver(in: closing) { [record] _ in record.add("closing") },
            dispatcher.addObserver(in: opening) { [record] _ in record.add("opening") },
        ]
        dispatcher.post(name: .paid)
        #expect(record.texts.isEmpty)
        dispatcher.post(name: .paid)
        #expect(record.texts == ["opening"])
        withExtendedLifetime(observations) {}
    }
}

@Suite("A dispatcher under load from all sides")
struct DispatcherStressTests {
    @Test("stays whole while threads post, add, switch, remove and let objects go at once")
    func threads() async {
        let dispatcher = NotificationDispatcher()
        let (rounds, tasks) = (300, 4)
        let calls = Atomic(0)
        let scope = NotificationScope()
        let steady = dispatcher.addObserver(named: .paid) { _ in calls.add(1, ordering: .relaxed) }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for _ in 0..<rounds { dispatcher.post(name: .paid) }
                }
                group.addTask {
                    for _ in 0..<rounds {
                        // Objects are deallocated while others post, and call the dispatcher from their
                        // deinitializers.
                        let screen = Screen(Record()) { dispatcher.removeObserver($0, named: .shipped) }
                        dispatcher.addObserver(screen, calling: Screen.show, in: scope)
                        dispatcher.addObserver(screen, calling: Screen.count, named: .shipped)
                    }
                }
                group.addTask {
                    for round in 0..<rounds {
                        round.isMultiple(of: 2) ? scope.switchOff() : scope.switchOn()
                        let passing = dispatcher.addObserver(named: .paid, in: scope) { _ in
                            dispatcher.post(name: .shipped)
                        }
                        dispatcher.removeObserver(passing)
                    }
                }
            }
        }
        #expect(calls.load(ordering: .relaxed) == rounds * tasks)
        dispatcher.post(name: .paid)
        dispatcher.post(name: .shipped)
        #expect(dispatcher.observerCount == 1)
        withExtendedLifetime(steady) {}
    }
}
