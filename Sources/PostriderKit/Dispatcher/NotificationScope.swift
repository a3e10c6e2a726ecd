import Synchronization

/// A switch for observers of one part of an app, such as a screen: they get notifications only while it is on.
///
///     let screen = NotificationScope()
///     let observation = dispatcher.addObserver(named: .orderShipped, in: screen) { … }
///     screen.switchOff()  // not on screen: its observers are not called
///     screen.switchOn()
///
/// Notifications that are posted while a scope is off are not kept for its observers; they should read the current
/// state when it is switched on again. If a scope is switched off during a post, observers that are not called yet
/// are not called. If it is switched on during a post, its observers are called from the next post on. A call that is
/// running on another thread runs to its end.
public final class NotificationScope: Sendable {
    private let whole: NotificationScope?
    private let isSwitchedOn: Atomic<Bool>

    /// Creates a scope, which may be part of another one.
    ///
    /// - Parameters:
    ///   - isOn: whether the scope is on at first.
    ///   - whole: a scope that includes this one: while it is off, so is this one.
    public init(isOn: Bool = true, partOf whole: NotificationScope? = nil) {
        self.whole = whole
        isSwitchedOn = Atomic(isOn)
    }

    /// Whether observers of the scope are called: it is switched on, and so are all scopes that include it.
    public var isOn: Bool { isSwitchedOn.load(ordering: .acquiring) && whole?.isOn != false }

    /// Switches the scope on: its observers are called from the next post on.
    public func switchOn() { isSwitchedOn.store(true, ordering: .releasing) }

    /// Switches the scope off: its observers are not called from now on.
    public func switchOff() { isSwitchedOn.store(false, ordering: .releasing) }
}
