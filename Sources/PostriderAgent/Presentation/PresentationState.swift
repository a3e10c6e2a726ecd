import PostriderCourier
import PostriderNotifications

/// Decides which alerts are shown, replaced and taken away, and what a user's response is a response to. A machine:
/// events in, actions out, no clock and no bus.
///
///     arrived ─▶ asked (an app that runs and decides) ─▶ due ─▶ sent ─▶ shown        without a screen: ─▶ noted
struct PresentationState {
    typealias Key = Alert.Key
    typealias Place = AlertRegister.Place

    enum Event: Equatable {
        /// There is a new alert, in the place of the one of its key.
        case arrived(Alert, appDecides: Bool)
        /// An earlier agent has left an alert.
        case restored(AlertRegister.Record)
        /// The app has decided.
        case decided(question: UInt64, PresentationOptions)
        /// So much time has gone by as ``PresentationState/Action/ask(question:_:)`` allows.
        case timeIsUp(question: UInt64)
        /// A server of notifications is there, or gone.
        case screenCame(server: String), screenWent
        /// What came of ``PresentationState/Action/show(ticket:_:_:replacing:)``; nil: nothing.
        case sent(ticket: UInt64, number: UInt32?)
        /// The user has chosen the alert itself (nil), an action, or has written something for one.
        case chosen(number: UInt32, action: String?, text: String?)
        /// The user has responded, but nobody can tell what.
        case unanswered(number: UInt32)
        /// The server has put an alert away; the user has, or its time was over.
        case dismissed(number: UInt32), expired(number: UInt32)
        /// The user has responded in another way.
        case responded(Key, action: String?, text: String?)
        /// Alerts of an app are to go; nil: all of them.
        case revoked(topic: String, identifiers: [String]?)
    }

    enum Action: Equatable {
        /// Ask the app, and say when its time is up.
        case ask(question: UInt64, Alert)
        /// Show an alert, instead of the one of this number, and say what came of it.
        case show(ticket: UInt64, Alert, PresentationOptions, replacing: UInt32)
        /// Take away what is shown.
        case close(number: UInt32)
        /// There is no screen: write a line.
        case note(Alert)
        /// Put a number on the app's icon.
        case badge(topic: String, UInt32)
        /// The app's user has responded.
        case respond(Alert, action: String?, text: String?)
        /// Nothing is left to be done for an alert to be shown.
        case keep(Alert, at: Place?)
        /// The alert is over; the user has put it away, or somebody else has.
        case forget(Alert, isDismissed: Bool)
    }

    private enum State: Equatable {
        case asked(question: UInt64)
        case due
        case sent(ticket: UInt64)
        case shown
    }

    private struct Entry {
        var alert: Alert
        var state: State
        var options = PresentationOptions.all
        /// Where it is, or the one that it replaces.
        var place: Place?
        /// Which of the app's is the oldest.
        let order: UInt64
    }

    /// Whether there is never a screen.
    private let isHeadless: Bool
    private var entries: [Key: Entry] = [:]
    private var server: String?
    /// What was said to the server and is not answered yet.
    private var tickets: [UInt64: Key] = [:]
    private var lastNumber: UInt64 = 0

    init(isHeadless: Bool) { self.isHeadless = isHeadless }

    /// What there is, the oldest first.
    var alerts: [Alert] { entries.values.sorted { $0.order < $1.order }.map(\.alert) }

    /// What there is under a name.
    func alert(of key: Key) -> Alert? { entries[key]?.alert }

    /// What is shown under a number.
    func alert(numbered number: UInt32) -> Alert? { key(of: number).flatMap { entries[$0]?.alert } }

    /// What is to be done upon an event, in order.
    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .arrived(let alert, let appDecides): return arrived(alert, appDecides)
        case .restored(let record): return restored(record)
        case .decided(let question, let options): return decided(question, options)
        case .timeIsUp(let question): return decided(question, .all)
        case .screenCame(let server): return screenCame(server)
        case .screenWent:
            server = nil
            tickets = [:]
            for (key, entry) in entries {
                if case .sent = entry.state { entries[key]?.state = .due }
            }
            return []
        case .sent(let ticket, let number): return sent(ticket, number)
        case .chosen(let number, let action, let text):
            return key(of: number).map { responded($0, action, text) } ?? []
        case .unanswered(let number): return key(of: number).map { showAgain($0) } ?? []
        case .dismissed(let number): return key(of: number).map { dismissed($0) } ?? []
        // It can be called up again at many servers, and be chosen then.
        case .expired: return []
        case .responded(let key, let action, let text):
            return responded(key, action, text)
        case .revoked(let topic, let identifiers):
            let keys = identifiers.map { $0.map { Key(topic: topic, identifier: $0) } }
            return (keys ?? entries.keys.filter { $0.topic == topic })
                .sorted { $0.identifier < $1.identifier }.flatMap { revoke($0) }
        }
    }

    // MARK: On its way to the screen

    private mutating func arrived(_ alert: Alert, _ appDecides: Bool) -> [Action] {
        let question = draw()
        let place = entries[alert.key]?.place
        entries[alert.key] = Entry(
            alert: alert, state: appDecides ? .asked(question: question) : .due, place: place, order: question
        )
        let excess = excess(of: alert.key.topic)
        return excess + (appDecides ? [.ask(question: question, alert)] : decide(alert.key, .all))
    }

    private mutating func restored(_ record: AlertRegister.Record) -> [Action] {
        let key = record.alert.key
        entries[key] = Entry(
            alert: record.alert, state: record.isShown ? .shown : .due, place: record.place, order: draw())
        return record.isShown ? [] : decide(key, .all)
    }

    private mutating func decided(_ question: UInt64, _ options: PresentationOptions) -> [Action] {
        guard let key = entries.first(where: { $0.value.state == .asked(question: question) })?.key else {
            return []
        }
        return decide(key, options)
    }

    private mutating func decide(_ key: Key, _ options: PresentationOptions) -> [Action] {
        guard let entry = entries[key] else { return [] }
        let options = options.intersection(entry.alert.permitted)
        var actions: [Action] = []
        if options.contains(.badge), let badge = entry.alert.content.badge {
            actions.append(.badge(topic: key.topic, badge))
        }
        guard options.contains(.banner), entry.alert.content.isVisible else {
            return actions + revoke(key)
        }
        entries[key]?.options = options
        guard !isHeadless else {
            entries[key]?.state = .shown
            return actions + [.note(entry.alert), .keep(entry.alert, at: nil)]
        }
        entries[key]?.state = .due
        return actions + show(key)
    }

    private mutating func show(_ key: Key) -> [Action] {
        guard let server, let entry = entries[key], entry.state == .due else { return [] }
        // An older one of this key is under way: the number that it gets is the one to replace.
        guard !tickets.values.contains(key) else { return [] }
        let ticket = draw()
        let replaced = entry.place.flatMap { $0.server == server ? $0.number : nil } ?? 0
        entries[key]?.state = .sent(ticket: ticket)
        tickets[ticket] = key
        return [.show(ticket: ticket, entry.alert, entry.options, replacing: replaced)]
    }

    /// Shows what was answered once more, as a new one: the server takes the other away.
    private mutating func showAgain(_ key: Key) -> [Action] {
        guard let place = entries[key]?.place else { return [] }
        entries[key]?.place = nil
        entries[key]?.state = .due
        return [.close(number: place.number)] + show(key)
    }

    private mutating func screenCame(_ server: String) -> [Action] {
        guard self.server != server else { return [] }
        self.server = server
        var actions: [Action] = []
        for (key, entry) in entries.sorted(by: { $0.value.order < $1.value.order }) {
            if entry.state == .shown, entry.place?.server != server {
                // What another server showed went with it.
                actions += forget(key, isDismissed: false)
            } else {
                actions += show(key)
            }
        }
        return actions
    }

    private mutating func sent(_ ticket: UInt64, _ number: UInt32?) -> [Action] {
        guard let key = tickets.removeValue(forKey: ticket), let server else { return [] }
        guard let entry = entries[key] else { return number.map { [.close(number: $0)] } ?? [] }
        guard let number else {
            return entry.state == .sent(ticket: ticket) ? forget(key, isDismissed: false) : show(key)
        }
        let place = Place(number: number, server: server)
        entries[key]?.place = place
        // A newer one of this key goes where this one is.
        guard entry.state == .sent(ticket: ticket) else { return show(key) }
        entries[key]?.state = .shown
        return [.keep(entry.alert, at: place)]
    }

    // MARK: Away from it

    /// Some servers close what was chosen, others leave that to whoever has shown it.
    private mutating func responded(_ key: Key, _ action: String?, _ text: String?) -> [Action] {
        guard let alert = entries[key]?.alert else { return [] }
        return [.respond(alert, action: action, text: text)] + revoke(key, isDismissed: true)
    }

    /// The server has taken it away already.
    private mutating func dismissed(_ key: Key) -> [Action] {
        guard let alert = entries[key]?.alert else { return [] }
        let response = Action.respond(alert, action: Responded.dismissAction, text: nil)
        return [response] + forget(key, isDismissed: true)
    }

    private mutating func revoke(_ key: Key, isDismissed: Bool = false) -> [Action] {
        guard let entry = entries[key] else { return [] }
        let place = entry.place.flatMap { $0.server == server ? $0.number : nil }
        return (place.map { [.close(number: $0)] } ?? []) + forget(key, isDismissed: isDismissed)
    }

    private mutating func forget(_ key: Key, isDismissed: Bool) -> [Action] {
        guard let entry = entries.removeValue(forKey: key) else { return [] }
        return [.forget(entry.alert, isDismissed: isDismissed)]
    }

    /// The oldest of an app go where there are too many.
    private mutating func excess(of topic: String) -> [Action] {
        let own = entries.filter { $0.key.topic == topic }
        guard own.count > Limits.alertsPerTopic else { return [] }
        let oldest = own.min { $0.value.order < $1.value.order }
        return oldest.map { revoke($0.key) } ?? []
    }

    private func key(of number: UInt32) -> Key? {
        guard let server else { return nil }
        return entries.first { $0.value.place == Place(number: number, server: server) }?.key
    }

    private mutating func draw() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
