import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Tells every attached app what happens to the device. An app that attaches later is told the current state.
final class SystemEvents {
    private let streams: AttachedStreams
    private let relayLink: any OutboundLink
    private let sleepLock: (any SleepLock)?
    private let zoneName: () -> String
    private let scheduler: any Scheduler
    private let log: Log

    private var keyboard = KeyboardState()
    /// The input method that shows the keyboard.
    private weak var keyboardOwner: InputMethod?
    private lazy var movement = scheduler.makeTimer { [unowned self] in tell(keyboard.arrive()) }

    /// The last state of the relay's link that was announced; nil if none was.
    private var link: LinkChange?
    private var zone: String?
    private var sleep: UInt64 = 0
    /// Streams whose apps have not said yet that they are ready to sleep; nil if the device is not about to sleep.
    private var waiting: [ObjectIdentifier: AppStream]?
    private lazy var patience = scheduler.makeTimer { [unowned self] in letSleep() }

    /// - Parameters:
    ///   - relayLink: ends when the device is about to sleep and the apps are ready, and begins anew when it is awake.
    ///   - sleepLock: delays the device's sleep; nil if nobody tells when the device sleeps.
    ///   - zoneName: the name of the device's time zone.
    init(
        _ streams: AttachedStreams, relayLink: any OutboundLink, sleepLock: (any SleepLock)?,
        zoneName: @escaping () -> String, scheduler: any Scheduler, log: Log
    ) {
        self.streams = streams
        self.relayLink = relayLink
        self.sleepLock = sleepLock
        self.zoneName = zoneName
        self.scheduler = scheduler
        self.log = log
    }

    /// Sends an event to all apps that read what they are sent.
    func tell(_ event: SystemEvent) {
        if case .link(let change) = event { link = change }
        for stream in streams.all where stream.isListening { stream.tell(.system(event)) }
    }

    /// Tells an app the state of the device, once on each of its streams.
    func greet(_ stream: AppStream) {
        guard !stream.isGreeted else { return }
        stream.isGreeted = true
        let zone = zone ?? zoneName()
        self.zone = zone
        stream.tell(.deviceState(DeviceState(link: link, keyboard: keyboard.frame, timeZone: zone)))
    }

    // MARK: Clock

    /// The clock was set by this much, or the time zone may have changed. The first call only notes the zone.
    func clockChanged(byMilliseconds shift: Int64) {
        let name = zoneName()
        defer { zone = name }
        let newZone = zone != nil && zone != name ? name : nil
        guard shift != 0 || newZone != nil else { return }
        tell(.clock(ClockChange(shiftMilliseconds: shift == 0 ? nil : shift, timeZone: newZone)))
    }

    // MARK: Sleep

    /// The device is about to sleep. It sleeps as soon as the apps are ready, or their time is over.
    func willSleep() {
        sleep += 1
        let listeners = streams.all.filter(\.isListening)
        waiting = Dictionary(uniqueKeysWithValues: listeners.map { (ObjectIdentifier($0), $0) })
        tell(.power(PowerChange(phase: .willSleep, sleep: sleep)))
        patience.arm(afterMilliseconds: Limits.sleepDelayMilliseconds)
        if listeners.isEmpty { letSleep() }
    }

    /// An app is ready for the sleep of this number.
    func ready(_ stream: AppStream, for number: UInt64) {
        if number == sleep { left(stream) }
    }

    /// An app's stream has ended, or it need not be waited for.
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
        relayLink.sleep()
        sleepLock?.release()
    }

    /// The device is awake, or was kept from sleeping.
    func didWake() {
        waiting = nil
        patience.disarm()
        sleepLock?.take()
        tell(.power(PowerChange(phase: .didWake, sleep: sleep)))
        relayLink.wake()
    }

    // MARK: Keyboard

    /// An app is about to attach. It will be told where the keyboard is. So that it does not get the second half of a
    /// movement without the first, the movement ends now for all apps.
    func endMovement() {
        guard keyboard.isMoving else { return }
        movement.disarm()
        tell(keyboard.arrive())
    }

    /// An input method moves its keyboard. Returns false if the keyboard is there already.
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

    /// An input method's stream has ended. If its connection broke, its keyboard is gone.
    func left(_ owner: InputMethod, isBroken: Bool) {
        guard isBroken, keyboardOwner === owner else { return }
        _ = move(KeyboardOrder(frame: nil), by: nil)
    }

    private func tell(_ changes: [KeyboardChange]) {
        for change in changes { tell(.keyboard(change)) }
    }
}

/// One stream of an input method, compared by identity.
final class InputMethod {
    /// What is wrong with an order; nil if nothing is.
    static func mistake(in order: KeyboardOrder) -> String? {
        guard order.durationMilliseconds <= Limits.keyboardMilliseconds else {
            return
                "duration_milliseconds: \(order.durationMilliseconds) is above "
                + "\(Limits.keyboardMilliseconds)."
        }
        return order.frame?.flaw
    }
}

/// A lock that delays the sleep of the device, for a few seconds at most.
protocol SleepLock: AnyObject {
    /// Takes the lock.
    func take()
    /// Releases the lock: the device may sleep.
    func release()
}
