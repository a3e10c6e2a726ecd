import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderStorage

/// Asks the user of the desktop whether an app may notify, with a notification that has the buttons Allow and Deny.
/// Users are asked only about apps of their own.
///
///     Authorizations ─ask─▶ due ─▶ sent ─▶ shown ─chosen─▶ Authorizations.decide
///                                               └─closed─▶ asked at the next request
final class ConsentRequests {
    private enum State: Equatable {
        /// The question waits for a screen, or was sent to one.
        case due, sent
        case shown(AlertRegister.Place)
    }

    private let consents: ConsentRegister
    private let authorizations: Authorizations
    private let trouble: StateTrouble
    private weak var screen: (any PromptScreen)?
    private let log: Log
    /// The unanswered questions, by topic.
    private var questions: [String: State] = [:]
    /// Topics whose question was counted in ``ConsentRegister/Record/prompts``: a question that is only shown again is
    /// not counted twice.
    private var counted: Set<String> = []
    private var server: String?
    private let name: (_ topic: String) -> String

    /// - Parameters:
    ///   - screen: where users are asked; nil if there is none.
    ///   - name: the name of an app on a screen.
    init(
        _ consents: ConsentRegister, authorizations: Authorizations, screen: (any PromptScreen)?,
        trouble: StateTrouble, log: Log, name: @escaping (_ topic: String) -> String
    ) {
        self.name = name
        self.consents = consents
        self.authorizations = authorizations
        self.trouble = trouble
        self.screen = screen
        self.log = log
        // Questions of an earlier agent can still be answered.
        for (topic, record) in consents.records {
            guard let place = record.place else { continue }
            questions[topic] = .shown(place)
            counted.insert(topic)
        }
    }

    /// An app of this user asks for authorization, and nobody has decided. A user who closes the question without an
    /// answer is asked again at a later request, ``Notifications/Limits/promptsPerTopic`` times in all. After that the
    /// app is told at once that nobody has decided.
    func ask(about topic: String, of user: UInt32) {
        guard questions[topic] == nil, let screen else { return }
        guard consents[topic].prompts < Limits.promptsPerTopic else {
            log.notice(
                "\(topic): its user has closed the question \(Limits.promptsPerTopic) times and is not asked "
                    + "again; see 'postrider-agent allow'", kind: "not asked: \(topic)",
                fields: .init(topic: topic))
            return authorizations.unanswered(topic)
        }
        // If there is no screen yet, its user is checked when it appears.
        if let other = screen.user, other != user { return }
        questions[topic] = .due
        show(topic)
    }

    /// Withdraws the question, because it has an answer or none is wanted any more.
    func withdraw(_ topic: String) {
        guard let state = questions.removeValue(forKey: topic) else { return }
        if case .shown(let place) = state, place.server == server { screen?.close(place.number) }
        // A question that was just sent is closed when its number is known.
        forgetPlace(of: topic)
    }

    /// Handles an event of the screen. Returns false if it is about something else.
    func heard(_ event: DesktopScreen.Event) -> Bool {
        switch event {
        case .came(let server):
            self.server = server
            for topic in questions.keys.sorted() { came(server, topic) }
            return false
        case .went:
            server = nil
            for (topic, state) in questions where state == .sent { questions[topic] = .due }
            return false
        case .chosen(let number, let key): return topic(of: number).map { chosen(key, $0) } != nil
        case .closed(let number, _): return topic(of: number).map { closed($0) } != nil
        case .replied, .repliedUnreadably: return false
        }
    }

    // MARK: -

    /// Questions that another server showed have gone with it.
    private func came(_ server: String, _ topic: String) {
        if case .shown(let place) = questions[topic], place.server != server { questions[topic] = .due }
        show(topic)
    }

    private func show(_ topic: String) {
        guard let screen, let server, questions[topic] == .due else { return }
        guard let user = screen.user, user == authorizations.owner(of: topic) else {
            log.notice(
                "the desktop's user is not asked about \(topic), which is the app of another user",
                fields: .init(topic: topic))
            questions[topic] = nil
            return
        }
        guard screen.capabilities.contains("actions") else {
            questions[topic] = nil
            return log.notice(
                "the user cannot be asked about \(topic): the notification server shows no actions",
                fields: .init(topic: topic))
        }
        questions[topic] = .sent
        let question = DesktopNotification.question(
            about: topic, called: name(topic), capabilities: screen.capabilities)
        screen.show(question, replacing: 0) { [weak self] number in self?.shown(number, topic, server) }
    }

    private func shown(_ number: UInt32?, _ topic: String, _ server: String) {
        guard let number else {
            // The server has not shown the question: the app is told that nobody has decided, and may ask again.
            guard questions[topic] == .sent else { return }
            questions[topic] = nil
            authorizations.unanswered(topic)
            return
        }
        // The question was answered elsewhere meanwhile.
        guard questions[topic] == .sent else {
            screen?.close(number)
            return
        }
        let place = AlertRegister.Place(number: number, server: server)
        questions[topic] = .shown(place)
        var record = consents[topic]
        if counted.insert(topic).inserted { record.prompts += 1 }
        record.place = place
        keep(record, of: topic)
    }

    private func topic(of number: UInt32) -> String? {
        guard let server else { return nil }
        let place = AlertRegister.Place(number: number, server: server)
        return questions.first { $0.value == .shown(place) }?.key
    }

    private func chosen(_ key: String, _ topic: String) {
        let answers = [DesktopNotification.allowKey: true, DesktopNotification.denyKey: false]
        guard let isAllowed = answers[key] else { return }
        do throws(StoreError) {
            log.notice(
                "the user has \(isAllowed ? "allowed" : "denied") \(topic) to notify",
                fields: .init(topic: topic))
            // This withdraws the question too.
            _ = try authorizations.decide(isAllowed ? .authorized : .denied, about: topic)
        } catch {
            trouble.note(error)
            withdraw(topic)
            authorizations.unanswered(topic)
        }
    }

    private func closed(_ topic: String) {
        questions[topic] = nil
        forgetPlace(of: topic)
        authorizations.unanswered(topic)
    }

    private func forgetPlace(of topic: String) {
        counted.remove(topic)
        var record = consents[topic]
        record.place = nil
        keep(record, of: topic)
    }

    /// If the record cannot be stored, the next agent asks once more than allowed.
    private func keep(_ record: ConsentRegister.Record, of topic: String) {
        do throws(StoreError) { try consents.put(record, of: topic) } catch {
            trouble.note(error)
        }
    }
}

/// A screen on which users are asked.
protocol PromptScreen: AnyObject {
    /// The user of the desktop; nil if there is none.
    var user: UInt32? { get }
    /// The capabilities that the server reports.
    var capabilities: Set<String> { get }
    /// Shows a notification, as ``DesktopScreen`` does.
    func show(
        _ notification: DesktopNotification, replacing number: UInt32, _ shown: @escaping (UInt32?) -> Void)
    /// Closes a notification.
    func close(_ number: UInt32)
}

extension DesktopScreen: PromptScreen {}

extension DesktopNotification {
    private init(appName: String, summary: String, body: String, actions: [String]) {
        self.appName = appName
        self.summary = summary
        self.body = body
        self.actions = actions
        hints = [("urgency", .byte(1))]
        // It stays until it is answered or closed.
        timeout = 0
    }

    /// The keys of the answers to ``question(about:called:capabilities:)``.
    static let allowKey = "allow"
    static let denyKey = "deny"

    /// The question whether an app may notify. It contains the topic, because two apps may have the same name.
    static func question(about topic: String, called name: String, capabilities: Set<String>) -> Self {
        let name = line(name)
        var body = "\(topic) asks to show you notifications."
        if capabilities.contains("body-markup") { body = escaped(body) }
        return DesktopNotification(
            appName: name, summary: "Allow notifications of \(name)?", body: body,
            actions: [allowKey, "Allow", denyKey, "Deny"])
    }
}
