import PostriderCourier
import PostriderNotifications

/// Decides which alerts are shown, replaced and closed, and which alert a user's response refers to. A state machine:
/// events in, actions out, no clock and no bus.
///
///     arrived ─▶ asked (an app that runs and decides) ─▶ due ─▶ sent ─▶ shown        without a screen: ─▶ noted
struct PresentationState {
    typealias Key = Alert.Key
    typealias Place = AlertRegister.Place

    enum Event: Equatable {
        /// A new alert, which replaces the one of its key.
        case arrived(Alert, appDecides: Bool)
        /// An alert that an earlier agent has stored.
        case restored(AlertRegister.Record)
        /// The app has decided about a question.
        case decided(question: UInt64, PresentationOptions)
        /// The app has not answered the question of ``PresentationState/Action/ask(question:_:)`` in time.
        case timeIsUp(question: UInt64)
        /// A notification server has appeared, or has gone.
        case screenCame(server: String), screenWent
        /// The server's number for ``PresentationState/Action/show(ticket:_:_:replacing:)``; nil if it is not shown.
        case sent(ticket: UInt64, number: UInt32?)
        /// The user has chosen the alert itself (nil) or an action, or has written a text for one.
        case chosen(number: UInt32, action: String?, text: String?)
        /// The user has responded, but the response cannot be read.
        case unanswered(number: UInt32)
        /// The server has closed an alert: the user dismissed it, or its time was over.
        case dismissed(number: UInt32), expired(number: UInt32)
        /// The user has responded in another way than on the screen.
        case responded(Key, action: String?, text: String?)
        /// Alerts of an app shall be removed; nil for all of them.
        case revoked(topic: String, identifiers: [String]?)
    }

    enum Action: Equatable {
        /// Ask the app how to present the alert, and set a timer for its answer.
        case ask(question: UInt64, Alert)
        /// Show an alert in place of the one of this number, and report the server's number.
        case show(ticket: UInt64, Alert, PresentationOptions, replacing: UInt32)
        /// Close what is shown under this number.
        case close(number: UInt32)
        /// There is no screen: log the alert.
        case note(Alert)
        /// Set the badge of the app's icon.
        case badge(topic: String, UInt32)
        /// Tell the app its user's response.
        case respond(Alert, action: String?, text: String?)
        /// Store that the alert is shown.
        case keep(Alert, at: Place?)
        /// Remove the alert; `isDismissed`: the user has dismissed it.
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
        /// Where it is shown, or where the alert that it replaces is.
        var place: Place?
        /// Orders the alerts of an app by age.
        let order: UInt64
    }

    /// Whether there will never be a screen.
    private let isHeadless: Bool
    private var entries: [Key: Entry] = [:]
    private var server: String?
    /// Requests to show an alert that the server has not answered yet.
    private var tickets: [UInt64: Key] = [:]
    private var lastNumber: UInt64 = 0

    init(isHeadless: Bool) { self.isHeadless = isHeadless }

    /// All alerts, the oldest first.
    var alerts: [Alert] { entries.values.sorted { $0.order < $1.order }.map(\.alert) }

    /// The alert of a key.
    func alert(of key: Key) -> Alert? { entries[key]?.alert }

    /// The alert that is shown under a number.
    func alert(numbered number: UInt32) -> Alert? { key(of: number).flatMap { entries[$0]?.alert } }

    /// Handles an event and returns the actions, in order.
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
        // Many servers keep an expired alert in a list, where it can still be chosen.
        case .expired: return []
        case .responded(let key, let action, let text):
            return responded(key, action, text)
        case .revoked(let topic, let identifiers):
            let keys = identifiers.map { $0.map { Key(topic: topic, identifier: $0) } }
            return (keys ?? entries.keys.filter { $0.topic == topic })
                .sorted { $0.identifier < $1.identifier }.flatMap { revoke($0) }
        }
    }

    // MARK: Showing

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
        // An older alert of this key was just sent: the number that it gets is the one to replace.
        guard !tickets.values.contains(key) else { return [] }
        let ticket = draw()
        let replaced = entry.place.flatMap { $0.server == server ? $0.number : nil } ?? 0
        entries[key]?.state = .sent(ticket: ticket)
        tickets[ticket] = key
        return [.show(ticket: ticket, entry.alert, entry.options, replacing: replaced)]
    }

    /// Shows an alert again as a new one, because its response could not be read: the server closes the other.
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
                // What another server showed has gone with it.
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
        // A newer alert of this key replaces this one.
        guard entry.state == .sent(ticket: ticket) else { return show(key) }
        entries[key]?.state = .shown
        return [.keep(entry.alert, at: place)]
    }

    // MARK: Closing

    /// Some servers close an alert that was chosen, others leave that to its sender.
    private mutating func responded(_ key: Key, _ action: String?, _ text: String?) -> [Action] {
        guard let alert = entries[key]?.alert else { return [] }
        return [.respond(alert, action: action, text: text)] + revoke(key, isDismissed: true)
    }

    /// The server has closed it already.
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

    /// Removes the oldest alerts of an app if there are too many.
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
