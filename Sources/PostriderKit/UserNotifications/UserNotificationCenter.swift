import FoundationEssentials
import PostriderCourier

/// The local notifications of an application, in the manner of `UNUserNotificationCenter`. The device's agent keeps
/// them: they survive the end of the app and a restart of the device.
///
/// What is due comes through the ``NotificationDispatcher`` as ``NotificationName/localNotificationDidFire``, and what
/// the user does with it as ``NotificationName/responseDidArrive``, from ``Application/start()`` on. Each call returns
/// when the agent has made it safe; while the agent is away it waits. Cancel its task to wait no longer: whether it was
/// done is then not known.
///
/// Every verb throws ``UserNotificationError``, ``ApplicationError`` or `CancellationError`.
///
/// Beside each verb that is awaited stands a form for code that does not await, as UserNotifications has it; such calls
/// are made in the order in which they are written.
public struct UserNotificationCenter: Sendable {
    private let chosen: Application?

    init(_ application: Application?) { chosen = application }

    /// The centre of the present application: see ``Application/makeCurrent()``. It may be taken before there is an
    /// application.
    public static func current() -> UserNotificationCenter { UserNotificationCenter(nil) }

    /// The application of this centre.
    var application: Application {
        get throws(ApplicationError) {
            guard let application = chosen ?? Application.current else {
                throw .unusable("There is no application yet: create an Application(topic:) first.")
            }
            return application
        }
    }

    // MARK: Authorization

    /// Asks the owner of the device whether the application may notify, and waits for the answer. The owner is asked
    /// once: what was decided is answered at once from then on.
    public func requestAuthorization(options: AuthorizationOptions = []) async throws -> Bool {
        let answers = try await application.call(.requestAuthorization(options: options.rawValue))
        return try Self.status(answers).isGranted
    }

    /// What the owner of the device has decided.
    public func authorizationStatus() async throws -> AuthorizationStatus {
        try Self.status(await application.call(.settings))
    }

    // MARK: Requests

    /// Schedules a notification, in the place of the pending one of its identifier.
    ///
    /// - Throws: ``UserNotificationError/notificationsNotAllowed`` where the owner of the device has not allowed it.
    public func add(_ request: NotificationRequest) async throws {
        _ = try await application.call(.add(try LocalRequest(request)))
    }

    /// What is not due yet, by date.
    public func pendingNotificationRequests() async throws -> [NotificationRequest] {
        try await list(.pending).map(\.request)
    }

    /// When what is pending is due next, by date.
    public func pendingNotifications() async throws -> [UserNotification] { try await list(.pending) }

    /// Takes pending notifications of these identifiers back, as far as there are any.
    public func removePendingNotificationRequests(withIdentifiers identifiers: [String]) async throws {
        _ = try await application.call(.removePending(.some(identifiers)))
    }

    /// Takes every pending notification back.
    public func removeAllPendingNotificationRequests() async throws {
        _ = try await application.call(.removePending(.all))
    }

    // MARK: What was

    /// The newest notification of each identifier that was delivered and not taken away or responded to, by date.
    public func deliveredNotifications() async throws -> [UserNotification] { try await list(.delivered) }

    /// Takes delivered notifications of these identifiers away, as far as there are any.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) async throws {
        _ = try await application.call(.removeDelivered(.some(identifiers)))
    }

    /// Takes every delivered notification away.
    public func removeAllDeliveredNotifications() async throws {
        _ = try await application.call(.removeDelivered(.all))
    }

    /// The newest notification of each identifier whose moment came while the device was off and had passed too long
    /// ago when it came back, by date.
    public func missedNotifications() async throws -> [UserNotification] { try await list(.missed) }

    // MARK: Categories

    /// Replaces the categories: what the user can do with the notifications that name them.
    public func setNotificationCategories(_ categories: Set<NotificationCategory>) async throws {
        _ = try await application.call(Self.order(setting: categories))
    }

    /// The categories.
    public func notificationCategories() async throws -> Set<NotificationCategory> {
        Self.categories(try await application.call(.categories))
    }

    private func list(_ kind: NoticeKind) async throws -> [UserNotification] {
        Self.notifications(try await application.call(.list(kind)))
    }

    // MARK: The agent's answers

    static func order(setting categories: Set<NotificationCategory>) -> CenterOrder {
        .setCategories(categories.sorted { $0.identifier < $1.identifier }.map { LocalCategory($0) })
    }

    static func notifications(_ answers: [CenterAnswer.Content]) -> [UserNotification] {
        answers.compactMap { answer in
            if case .item(let notice) = answer { notice.notification } else { nil }
        }
    }

    static func categories(_ answers: [CenterAnswer.Content]) -> Set<NotificationCategory> {
        for answer in answers {
            if case .categories(let categories) = answer { return Set(categories.map(\.category)) }
        }
        return []
    }

    static func status(_ answers: [CenterAnswer.Content]) throws -> AuthorizationStatus {
        for answer in answers {
            if case .authorization(let status) = answer { return AuthorizationStatus(status) }
        }
        throw UserNotificationError.refused("The agent does not say whether the app may notify.")
    }
}

/// Why the user notification centre cannot do what it is asked.
public enum UserNotificationError: Error, Equatable, CustomStringConvertible {
    /// The owner of the device has not allowed the application to notify.
    case notificationsNotAllowed
    /// It cannot be done; the reason is a sentence.
    case refused(String)

    /// One sentence.
    public var description: String {
        switch self {
        case .notificationsNotAllowed: "The owner of the device has not allowed this app to notify."
        case .refused(let reason): reason
        }
    }
}
