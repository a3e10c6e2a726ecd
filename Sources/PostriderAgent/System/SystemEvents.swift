import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Tells every app that is attached what happens to the device. One that attaches later is told what holds then.
final class SystemEvents {
    private unowned let desk: AppRouter
    private let scheduler: any Scheduler
    private let log: Log
    /// What keeps the device from sleeping for a moment; its owner, which also owns this, sets it.
    weak var sleepLock: (any SleepLock)?
    /// Called when the device is about to sleep and the apps are done with what they do before, and when it is awake.
    var whenAsleep: () -> Void = {}
    var whenAwake: () -> Void = {}

    private var keyboard = KeyboardState()
    /// The input method that the keyboard is of.
    private weak var keyboardOwner: InputMethod?
    private lazy var movement = scheduler.makeTimer { [unowned self] in tell(keyboard.arrive()) }

    /// What was last told of the link to the relay; nil: nothing yet.
    private var link: LinkChange?
    private var zone: String?
    private var sleep: UInt64 = 0
    /// Streams whose apps have yet to say that they are ready to sleep; nil: the device does not go to sleep.
    private var waiting: [ObjectIdentifier: AppStream]?
    private lazy var patience = scheduler.makeTimer { [unowned self] in letSleep() }

    init(_ desk: AppRouter, scheduler: any Scheduler, log: Log) {
        self.desk = desk
        self.scheduler = scheduler
        self.log = log
    }

    /// Tells one thing to all apps that take what they are told.
    func tell(_ event: SystemEvent) {
        if case .link(let change) = event { link = change }
        for stream in desk.streams where stream.isListening { stream.tell(.system(event)) }
    }

    /// Tells an app what holds on the device, once on each of its streams.
    func greet(_ stream: AppStream) {
        guard !stream.isGreeted else { return }
        stream.isGreeted = true
        let zone = zone ?? desk.center.zoneName
        self.zone = zone
        stream.tell(.deviceState(DeviceState(link: link, keyboard: keyboard.frame, timeZone: zone)))
    }

    // MARK: Clock

    /// The clock was set by so much, or somebody should see whether the zone is another.
    func clockChanged(byMilliseconds shift: Int64, zone name: String) {
        defer { zone = name }
        let newZone = zone != nil && zone != name ? name : nil
        guard shift != 0 || newZone != nil else { return }
        tell(.clock(ClockChange(shiftMilliseconds: shift == 0 ? nil : shift, timeZone: newZone)))
    }

    // MARK: Sleep

    /// The device sleeps as soon as the apps are ready for it, or have had their time.
    func willSleep() {
        sleep += 1
        let listeners = desk.streams.filter(\.isListening)
        waiting = Dictionary(uniqueKeysWithValues: listeners.map { (ObjectIdentifier($0), $0) })
        tell(.power(PowerChange(phase: .willSleep, sleep: sleep)))
        patience.arm(afterMilliseconds: Limits.sleepDelayMilliseconds)
        if listeners.isEmpty { letSleep() }
    }

    /// An app is ready for the sleep of this number.
    func ready(_ stream: AppStream, for number: UInt64) {
        if number == sleep { left(stream) }
    }

    /// An app's stream is gone, or it need not be waited for.
    func left(_ stream: AppStream) {
        guard waiting?.removeValue(forKey: ObjectIdentifier(stream)) != nil, waiting?.isEmpty == true else {
            return
        }
        letSleep()
    }

    private func letSleep() {
        guard let waiting else { return }
        if !waiting.isEmpty {
            log.notice("\(waiting.count) apps were not ready to sleep in time", kind: "not ready to sleep")
        }
        self.waiting = nil
        patience.disarm()
        whenAsleep()
        sleepLock?.release()
    }

    /// The device is awake, or was kept from sleeping.
    func didWake() {
        waiting = nil
        patience.disarm()
        sleepLock?.take()
        tell(.power(PowerChange(phase: .didWake, sleep: sleep)))
        whenAwake()
    }

    // MARK: Keyboard

    /// An app is about to attach. It is told where the keyboard is, and not the second half of a movement whose first
    /// half it has not been told: that is over for the others, too.
    func endMovement() {
        guard keyboard.isMoving else { return }
        movement.disarm()
        tell(keyboard.arrive())
    }

    /// An input method moves its keyboard. False: it is there already.
    func move(_ order: KeyboardOrder, by owner: InputMethod?) -> Bool {
        keyboardOwner = owner
        let changes = keyboard.move(order)
        tell(changes)
        if keyboard.isMoving {
            movement.arm(afterMilliseconds: Int(order.durationMilliseconds))
        } else {
            movement.disarm()
        }
        return !changes.isEmpty
    }

    /// An input method is gone. Where its connection broke, its keyboard is not there any more.
    func left(_ owner: InputMethod, isBroken: Bool) {
        guard isBroken, keyboardOwner === owner else { return }
        _ = move(KeyboardOrder(frame: nil), by: nil)
    }

    private func tell(_ changes: [KeyboardChange]) {
        for change in changes { tell(.keyboard(change)) }
    }
}

/// One stream of an input method, which is known by being itself.
final class InputMethod {
    /// What is wrong with an order; nil: it can be done.
    static func mistake(in order: KeyboardOrder) -> String? {
        guard order.durationMilliseconds <= Limits.keyboardMilliseconds else {
            return
                "duration_milliseconds: \(order.durationMilliseconds) is above "
                + "\(Limits.keyboardMilliseconds)."
        }
        return order.frame?.flaw
    }
}

/// What keeps the device from going to sleep while it is held, for a few seconds at most.
protocol SleepLock: AnyObject {
    /// Holds it, from now on.
    func take()
    /// Lets the device sleep.
    func release()
}

extension AppRouter {
    /// The clock was set by so much, or the device has slept, or may be in another zone.
    func clockChanged(byMilliseconds shift: Int64) {
        center.clockChanged(byMilliseconds: shift)
        system.clockChanged(byMilliseconds: shift, zone: center.zoneName)
    }
}
