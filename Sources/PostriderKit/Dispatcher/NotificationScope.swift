import Synchronization

/// A part of an app that notifications reach only while it is switched on: a screen and what stands on it.
///
///     let screen = NotificationScope()
///     let observation = dispatcher.addObserver(named: .orderShipped, in: screen) { … }
///     screen.switchOff()  // not on screen: not disturbed
///     screen.switchOn()
///
/// What is posted while a scope is off is not kept for its observers: they ask for the present state when they come
/// back. Switched off during a post, it keeps those that are not yet called from being called; switched on during a
/// post, it counts from the next one on. A call that runs on another thread meanwhile runs to its end.
public final class NotificationScope: Sendable {
    private let whole: NotificationScope?
    private let isSwitchedOn: Atomic<Bool>

    /// A scope that is switched on or off to begin with, perhaps a part of another one.
    ///
    /// - Parameters:
    ///   - isOn: whether the scope is switched on at first.
    ///   - whole: the scope that this one is a part of: while that is off, so is this one.
    public init(isOn: Bool = true, partOf whole: NotificationScope? = nil) {
        self.whole = whole
        isSwitchedOn = Atomic(isOn)
    }

    /// Whether its observers are called: it is switched on, and so is all that it is a part of.
    public var isOn: Bool { isSwitchedOn.load(ordering: .acquiring) && whole?.isOn != false }

    /// Lets its observers be called, from the next post on.
    public func switchOn() { isSwitchedOn.store(true, ordering: .releasing) }

    /// Keeps its observers from being called, from now on.
    public func switchOff() { isSwitchedOn.store(false, ordering: .releasing) }
}
