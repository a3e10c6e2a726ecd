import FoundationEssentials
import Synchronization

// The current application, for calls that name none. On iOS a process has only one.
extension Application {
    private struct Register {
        /// All applications of the process, the oldest first.
        var present: [WeakApplication] = []
        var chosen = WeakApplication()
        /// The application that was created because ``Application/current`` found none.
        var made: Application?
        /// A delegate that was set before there was an application.
        var delegate = WeakDelegate()
    }

    private struct WeakApplication {
        weak var object: Application?
    }

    private static let register = Mutex(Register())

    /// Makes this the application that ``UserNotificationCenter/current()`` refers to. A process with only one
    /// application need not call this.
    public func makeCurrent() { Self.register.withLock { $0.chosen.object = self } }

    /// The application that was made current; otherwise the oldest one that exists; otherwise a new one with the
    /// topic in `POSTRIDER_TOPIC`, which agents set for apps that they start. nil if there is none of these.
    public static var current: Application? {
        let present = register.withLock { $0.chosen.object ?? $0.present.lazy.compactMap(\.object).first }
        if let present { return present }
        guard let topic = ProcessInfo.processInfo.environment["POSTRIDER_TOPIC"] else { return nil }
        let made = Application(topic: topic)
        return register.withLock { register in
            register.made = register.made ?? made
            return register.made
        }
    }

    /// Adds the application to the list.
    func enterRegister() {
        let delegate = Self.register.withLock { register in
            register.present.removeAll { $0.object == nil }
            register.present.append(WeakApplication(object: self))
            defer { register.delegate.object = nil }
            return register.delegate.object
        }
        if let delegate { setDelegate(delegate) }
    }

    /// A delegate that was set before there was an application. The next application gets it.
    static var waitingDelegate: (any UserNotificationCenterDelegate)? {
        get { register.withLock { $0.delegate.object } }
        set { register.withLock { $0.delegate.object = newValue } }
    }
}
