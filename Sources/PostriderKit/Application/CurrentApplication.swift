import FoundationEssentials
import Synchronization

// Which application is meant where none is named, as on iOS, where a process has one.
extension Application {
    private struct Register {
        /// Those that are there, the oldest first.
        var present: [WeakApplication] = []
        var chosen = WeakApplication()
        /// The one that was made because nobody else had made one.
        var made: Application?
        /// A delegate that was set before there was an application.
        var delegate = WeakDelegate()
    }

    private struct WeakApplication {
        weak var object: Application?
    }

    private static let register = Mutex(Register())

    /// Makes this the application that ``UserNotificationCenter/current()`` means. A process that has one application
    /// need not call it.
    public func makeCurrent() { Self.register.withLock { $0.chosen.object = self } }

    /// The application that was made current; or else the oldest one that is there; or else that of the topic under
    /// `POSTRIDER_TOPIC`, which agents set for the apps that they start.
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

    /// The application is there.
    func enterRegister() {
        let delegate = Self.register.withLock { register in
            register.present.removeAll { $0.object == nil }
            register.present.append(WeakApplication(object: self))
            defer { register.delegate.object = nil }
            return register.delegate.object
        }
        if let delegate { setDelegate(delegate) }
    }

    /// A delegate that was set before there was an application; the next one takes it on.
    static var waitingDelegate: (any UserNotificationCenterDelegate)? {
        get { register.withLock { $0.delegate.object } }
        set { register.withLock { $0.delegate.object = newValue } }
    }
}
