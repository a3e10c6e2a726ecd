import PostriderCourier

// The methods of UserNotifications that have completion handlers or return at once. The agent gets the calls in the
// order in which they are made. Completion handlers are called in the background.
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

    /// The application's permissions, one by one. If the agent cannot be asked, none is granted.
    public func notificationSettings() async -> NotificationSettings {
        NotificationSettings((try? await application.call(.settings(detailed: true))) ?? [])
    }

    /// Gets the application's permissions, one by one. If the agent cannot be asked, none is granted.
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

    /// Gets the requests that are not due yet, by date.
    public func getPendingNotificationRequests(
        completionHandler: @escaping @Sendable ([NotificationRequest]) -> Void
    ) {
        ask(.list(.pending)) { completionHandler(Self.notifications((try? $0.get()) ?? []).map(\.request)) }
    }

    /// Removes pending notifications with these identifiers.
    public func removePendingNotificationRequests(withIdentifiers identifiers: [String]) {
        ask(.removePending(.some(identifiers)))
    }

    /// Removes every pending notification.
    public func removeAllPendingNotificationRequests() { ask(.removePending(.all)) }

    // MARK: What was

    /// Gets the delivered notifications that were neither removed nor responded to, by date.
    public func getDeliveredNotifications(
        completionHandler: @escaping @Sendable ([UserNotification]) -> Void
    ) {
        ask(.list(.delivered)) { completionHandler(Self.notifications((try? $0.get()) ?? [])) }
    }

    /// Removes delivered notifications with these identifiers.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
        ask(.removeDelivered(.some(identifiers)))
    }

    /// Removes every delivered notification.
    public func removeAllDeliveredNotifications() { ask(.removeDelivered(.all)) }

    // MARK: Categories

    /// Replaces the categories of the application.
    public func setNotificationCategories(_ categories: Set<NotificationCategory>) {
        ask(Self.order(setting: categories))
    }

    /// Gets the categories of the application.
    public func getNotificationCategories(
        completionHandler: @escaping @Sendable (Set<NotificationCategory>) -> Void
    ) {
        ask(.categories) { completionHandler(Self.categories((try? $0.get()) ?? [])) }
    }

    // MARK: The icon

    /// Sets the number on the icon of the application's desktop file; 0 removes it. The agent keeps it.
    ///
    /// - Throws: ``UserNotificationError/notificationsNotAllowed`` if badges are not granted.
    public func setBadgeCount(_ count: Int) async throws {
        _ = try await application.call(.setBadge(UInt32(clamping: count)))
    }

    /// Sets the number on the icon of the application's desktop file; 0 removes it. The agent keeps it.
    public func setBadgeCount(
        _ count: Int, withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) { ask(.setBadge(UInt32(clamping: count))) { completionHandler?($0.failure) } }

    /// Whether apps may draw notifications of their own. It is false, because no desktop permits that.
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
