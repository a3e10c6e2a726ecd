// The names of all notifications that arrive from outside of the app. Their sender is the ``Application`` to which
// they belong. KitNotifications.swift has a type for each.
extension NotificationName {
    /// Posted when a push has arrived. Its user info is the payload as the provider sent it:
    /// `userInfo["aps"]?["alert"]?["title"]?.string`. It counts as handled when every observer has finished.
    public static let remoteNotificationDidArrive = NotificationName(
        rawValue: "postrider.remoteNotificationDidArrive")

    /// Posted when a local notification is due. User info: ``UserNotificationKey``. It counts as handled when every
    /// observer has finished.
    public static let localNotificationDidFire = NotificationName(
        rawValue: "postrider.localNotificationDidFire")

    /// Posted when the user has responded to a notification that was shown. User info: ``UserNotificationKey``, with
    /// `payload` if it was a push. It counts as handled when every observer has finished.
    public static let responseDidArrive = NotificationName(rawValue: "postrider.responseDidArrive")

    /// Posted when the application has got a device token, for the first time or a new one. The app should send it to
    /// its provider. User info: ``RegistrationKey/deviceToken``.
    public static let deviceTokenDidChange = NotificationName(rawValue: "postrider.deviceTokenDidChange")

    /// Posted when the application has no device token, or none any more. The kit registers again with each new
    /// connection to the agent. User info: ``RegistrationKey/reason``.
    public static let registrationDidFail = NotificationName(rawValue: "postrider.registrationDidFail")

    /// Posted when the owner of the device has decided whether the application may notify, and when the application
    /// first learns of the decision. User info: ``UserNotificationKey/authorizationStatus``.
    public static let authorizationDidChange = NotificationName(rawValue: "postrider.authorizationDidChange")

    /// Posted when the application has started. It is the first notification of an app that has a manifest. User
    /// info: ``LaunchKey``.
    public static let applicationDidFinishLaunching = NotificationName(
        rawValue: "postrider.applicationDidFinishLaunching")

    /// Posted when the user has brought the application to the front.
    public static let applicationDidBecomeActive = NotificationName(
        rawValue: "postrider.applicationDidBecomeActive")

    /// Posted when the application goes to the background, or starts there.
    public static let applicationDidEnterBackground = NotificationName(
        rawValue: "postrider.applicationDidEnterBackground")

    /// Posted when the application has to end. It is stopped when its observers have finished.
    public static let applicationWillTerminate = NotificationName(
        rawValue: "postrider.applicationWillTerminate")
}

/// The keys in the user info of ``NotificationName/applicationDidFinishLaunching``.
public enum LaunchKey {
    /// A text: `none`, `activation`, `remote-notification`, `local-notification` or `response`.
    public static let reason = "reason"
    /// A dictionary: the user info of the notification for which the app was started. That notification is posted
    /// next.
    public static let notification = "notification"
}

/// The keys in the user info of notifications about registrations.
public enum RegistrationKey {
    /// A text of 64 hexadecimal digits, which providers put into the path of their requests.
    public static let deviceToken = "deviceToken"
    /// A text: one sentence for the user.
    public static let reason = "reason"
}

/// The keys in the user info of notifications of the user notification centre. A value that a notification does not
/// have is missing.
public enum UserNotificationKey {
    /// A text: the identifier that the app has given to the notification.
    public static let identifier = "identifier"
    /// A number: when the notification was due, in seconds since 1970.
    public static let date = "date"
    /// A text: the first line.
    public static let title = "title"
    /// A text: the second line.
    public static let subtitle = "subtitle"
    /// A text: the body.
    public static let body = "body"
    /// A number without a fraction: the number on the app's icon.
    public static let badge = "badge"
    /// A text: the name of a sound.
    public static let sound = "sound"
    /// A text: the category of the notification, which is one of the app's.
    public static let category = "category"
    /// A text: notifications with the same thread are shown together.
    public static let thread = "thread"
    /// A number: a ``NotificationInterruptionLevel``; missing if it is `active`.
    public static let interruptionLevel = "interruptionLevel"
    /// A number from 0 to 1; missing if it is 0.
    public static let relevanceScore = "relevanceScore"
    /// A dictionary: the app's own values.
    public static let userInfo = "userInfo"
    /// A dictionary: the payload, if the user has responded to a push.
    public static let payload = "payload"
    /// A text: the identifier of the action that the user has chosen.
    public static let action = "action"
    /// A text: what the user has entered.
    public static let text = "text"
    /// A number: an ``AuthorizationStatus``.
    public static let authorizationStatus = "authorizationStatus"
}
