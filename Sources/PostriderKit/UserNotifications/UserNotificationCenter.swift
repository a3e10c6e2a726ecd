import FoundationEssentials
import PostriderCourier

/// The local notifications of an application, like `UNUserNotificationCenter`. The device's agent stores them, so
/// they survive the end of the app and a restart of the device.
///
/// Due notifications are posted by the ``NotificationDispatcher`` as ``NotificationName/localNotificationDidFire``,
/// and responses of the user as ``NotificationName/responseDidArrive``, from ``Application/start()`` on. Each call
/// returns when the agent has stored the change; while the agent is away, it waits. Cancel its task to stop waiting;
/// it is then unknown whether the change was made.
///
/// Every method throws ``UserNotificationError``, ``ApplicationError`` or `CancellationError`.
///
/// Each async method has a second form for code that does not await, as UserNotifications has it. Such calls are made
/// in the order in which they are written.
public struct UserNotificationCenter: Sendable {
    private let chosen: Application?

    init(_ application: Application?) { chosen = application }

    /// The centre of the current application: see ``Application/makeCurrent()``. It may be used before an application
    /// exists.
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
    /// once; later calls return the decision at once.
    public func requestAuthorization(options: AuthorizationOptions = []) async throws -> Bool {
        let answers = try await application.call(.requestAuthorization(options: options.rawValue))
        return try Self.status(answers).isGranted
    }

    /// The decision of the device's owner.
    public func authorizationStatus() async throws -> AuthorizationStatus {
        try Self.status(await application.call(.settings))
    }

    // MARK: Requests

    /// Schedules a notification, and replaces the pending one with its identifier.
    ///
    /// - Throws: ``UserNotificationError/notificationsNotAllowed`` if the owner of the device has not allowed it.
    public func add(_ request: NotificationRequest) async throws {
        _ = try await application.call(.add(try LocalRequest(request)))
    }

    /// The requests that are not due yet, by date.
    public func pendingNotificationRequests() async throws -> [NotificationRequest] {
        try await list(.pending).map(\.request)
    }

    /// The pending notifications with the date at which they are next due, by date.
    public func pendingNotifications() async throws -> [UserNotification] { try await list(.pending) }

    /// Removes the pending notifications with these identifiers.
    public func removePendingNotificationRequests(withIdentifiers identifiers: [String]) async throws {
        _ = try await application.call(.removePending(.some(identifiers)))
    }

    /// Removes every pending notification.
    public func removeAllPendingNotificationRequests() async throws {
        _ = try await application.call(.removePending(.all))
    }

    // MARK: What was

    /// The newest delivered notification of each identifier that was neither removed nor responded to, by date.
    public func deliveredNotifications() async throws -> [UserNotification] { try await list(.delivered) }

    /// Removes the delivered notifications with these identifiers.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) async throws {
        _ = try await application.call(.removeDelivered(.some(identifiers)))
    }

    /// Removes every delivered notification.
    public func removeAllDeliveredNotifications() async throws {
        _ = try await application.call(.removeDelivered(.all))
    }

    /// The newest notification of each identifier that became due while the device was off, and was too old to be
    /// shown when the device was on again, by date.
    public func missedNotifications() async throws -> [UserNotification] { try await list(.missed) }

    // MARK: Categories

    /// Replaces the categories, which define the actions of notifications.
    public func setNotificationCategories(_ categories: Set<NotificationCategory>) async throws {
        _ = try await application.call(Self.order(setting: categories))
    }

    /// The categories of the application.
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

/// Why the user notification centre cannot do what was asked.
public enum UserNotificationError: Error, Equatable, CustomStringConvertible {
    /// The owner of the device has not allowed the application to notify.
    case notificationsNotAllowed
    /// The agent has refused the request. The reason is a sentence.
    case refused(String)

    /// A sentence that describes the error.
    public var description: String {
        switch self {
        case .notificationsNotAllowed: "The owner of the device has not allowed this app to notify."
        case .refused(let reason): reason
        }
    }
}
