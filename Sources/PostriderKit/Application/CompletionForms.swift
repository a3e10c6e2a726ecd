import PostriderCourier

// The forms of UserNotifications with completion handlers, and those that nobody waits for. The agent is asked in the
// order in which they are called. Handlers are called in the background.
extension UserNotificationCenter {
    // MARK: Authorization

    /// Asks the owner of the device whether the application may notify.
    public func requestAuthorization(
        options: AuthorizationOptions = [],
        completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        ask(.requestAuthorization(options: options.rawValue)) { result in
            do {
                completionHandler(try Self.status(try result.get()).isGranted, nil)
            } catch {
                completionHandler(false, error)
            }
        }
    }

    /// What the application may do, one by one. Where the agent cannot be asked, nothing.
    public func notificationSettings() async -> NotificationSettings {
        NotificationSettings((try? await application.call(.settings(detailed: true))) ?? [])
    }

    /// What the application may do, one by one. Where the agent cannot be asked, nothing.
    public func getNotificationSettings(
        completionHandler: @escaping @Sendable (NotificationSettings) -> Void
    ) {
        ask(.settings(detailed: true)) { completionHandler(NotificationSettings((try? $0.get()) ?? [])) }
    }

    // MARK: Requests

    /// Schedules a notification.
    public func add(
        _ request: NotificationRequest,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        do {
            ask(.add(try LocalRequest(request))) { completionHandler?($0.failure) }
        } catch {
            completionHandler?(error)
        }
    }

    /// What is not due yet, by date.
    public func getPendingNotificationRequests(
        completionHandler: @escaping @Sendable ([NotificationRequest]) -> Void
    ) {
        ask(.list(.pending)) { completionHandler(Self.notifications((try? $0.get()) ?? []).map(\.request)) }
    }

    /// Takes pending notifications of these identifiers back.
    public func removePendingNotificationRequests(withIdentifiers identifiers: [String]) {
        ask(.removePending(.some(identifiers)))
    }

    /// Takes every pending notification back.
    public func removeAllPendingNotificationRequests() { ask(.removePending(.all)) }

    // MARK: What was

    /// What was delivered, and not taken away or responded to, by date.
    public func getDeliveredNotifications(
        completionHandler: @escaping @Sendable ([UserNotification]) -> Void
    ) {
        ask(.list(.delivered)) { completionHandler(Self.notifications((try? $0.get()) ?? [])) }
    }

    /// Takes delivered notifications of these identifiers away.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
        ask(.removeDelivered(.some(identifiers)))
    }

    /// Takes every delivered notification away.
    public func removeAllDeliveredNotifications() { ask(.removeDelivered(.all)) }

    // MARK: Categories

    /// Replaces the categories.
    public func setNotificationCategories(_ categories: Set<NotificationCategory>) {
        ask(Self.order(setting: categories))
    }

    /// The categories.
    public func getNotificationCategories(
        completionHandler: @escaping @Sendable (Set<NotificationCategory>) -> Void
    ) {
        ask(.categories) { completionHandler(Self.categories((try? $0.get()) ?? [])) }
    }

    // MARK: The icon

    /// Puts a number on the icon of the application's desktop file; 0 removes it. The agent keeps it.
    ///
    /// - Throws: ``UserNotificationError/notificationsNotAllowed`` where badges are not granted.
    public func setBadgeCount(_ count: Int) async throws {
        _ = try await application.call(.setBadge(UInt32(clamping: count)))
    }

    /// Puts a number on the icon of the application's desktop file; 0 removes it. The agent keeps it.
    public func setBadgeCount(
        _ count: Int, withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) { ask(.setBadge(UInt32(clamping: count))) { completionHandler?($0.failure) } }

    /// Whether apps may draw notifications of their own: no desktop lets them.
    public var supportsContentExtensions: Bool { false }

    // MARK: -

    private func ask(
        _ order: CenterOrder,
        _ completion: @escaping @Sendable (Result<[CenterAnswer.Content], any Error>) -> Void = { _ in }
    ) {
        do {
            try application.call(order, completion)
        } catch {
            completion(.failure(error))
        }
    }
}

extension Result {
    fileprivate var failure: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
