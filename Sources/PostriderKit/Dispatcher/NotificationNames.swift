// All that arrives through the dispatcher from outside of the app, by name. The sender is the ``Application`` that it
// is for. KitNotifications.swift has each as a type.
extension NotificationName {
    /// A push has arrived. Its user info is the payload as the provider wrote it:
    /// `userInfo["aps"]?["alert"]?["title"]?.string`. When every observer has finished it counts as handled.
    public static let remoteNotificationDidArrive = NotificationName(
        rawValue: "postrider.remoteNotificationDidArrive")

    /// The moment of a local notification has come. User info: ``UserNotificationKey``. When every observer has
    /// finished it counts as handled.
    public static let localNotificationDidFire = NotificationName(
        rawValue: "postrider.localNotificationDidFire")

    /// The user has done something with a notification that was shown. User info: ``UserNotificationKey``, with
    /// `payload` where it was a push. When every observer has finished it counts as handled.
    public static let responseDidArrive = NotificationName(rawValue: "postrider.responseDidArrive")

    /// The application has a device token, for the first time or a new one: tell the provider. User info:
    /// ``RegistrationKey/deviceToken``.
    public static let deviceTokenDidChange = NotificationName(rawValue: "postrider.deviceTokenDidChange")

    /// The application has no device token, or none any more. It is asked for again with each new connection to the
    /// agent. User info: ``RegistrationKey/reason``.
    public static let registrationDidFail = NotificationName(rawValue: "postrider.registrationDidFail")

    /// The owner of the device has decided whether the application may notify, or this is the first that it hears of
    /// it. User info: ``UserNotificationKey/authorizationStatus``.
    public static let authorizationDidChange = NotificationName(rawValue: "postrider.authorizationDidChange")

    /// The application is there: the first that a declared app is told. User info: ``LaunchKey``.
    public static let applicationDidFinishLaunching = NotificationName(
        rawValue: "postrider.applicationDidFinishLaunching")

    /// The application is what the device is used for.
    public static let applicationDidBecomeActive = NotificationName(
        rawValue: "postrider.applicationDidBecomeActive")

    /// The application goes on unseen, or begins so.
    public static let applicationDidEnterBackground = NotificationName(
        rawValue: "postrider.applicationDidEnterBackground")

    /// The application is to end, and is stopped when its observers have finished.
    public static let applicationWillTerminate = NotificationName(
        rawValue: "postrider.applicationWillTerminate")
}

/// The names of what the start of an application tells in its user info.
public enum LaunchKey {
    /// A text: `none`, `activation`, `remote-notification`, `local-notification` or `response`.
    public static let reason = "reason"
    /// Values by name: the user info of the notification that it was started for, which follows by itself.
    public static let notification = "notification"
}

/// The names of what registrations tell in their user info.
public enum RegistrationKey {
    /// A text of 64 hexadecimal digits, as providers write it into the path of their requests.
    public static let deviceToken = "deviceToken"
    /// A text: one sentence for a person.
    public static let reason = "reason"
}

/// The names of what the user notification centre tells in its user info. What a notification does not have is left
/// out.
public enum UserNotificationKey {
    /// A text: what the app has called the notification.
    public static let identifier = "identifier"
    /// A number: when it was due, in seconds since 1970.
    public static let date = "date"
    /// A text: the first line.
    public static let title = "title"
    /// A text: the second line.
    public static let subtitle = "subtitle"
    /// A text.
    public static let body = "body"
    /// A number without a fraction.
    public static let badge = "badge"
    /// A text: the name of a sound.
    public static let sound = "sound"
    /// A text: which of the app's categories it is of.
    public static let category = "category"
    /// A text: what it is shown together with.
    public static let thread = "thread"
    /// A number: a ``NotificationInterruptionLevel``; left out if it is `active`.
    public static let interruptionLevel = "interruptionLevel"
    /// A number from 0 to 1; left out if it is 0.
    public static let relevanceScore = "relevanceScore"
    /// Values by name: the app's own.
    public static let userInfo = "userInfo"
    /// Values by name: what the provider sent, where it was a push that the user has responded to.
    public static let payload = "payload"
    /// A text: what the user has done, an action's identifier.
    public static let action = "action"
    /// A text: what the user has written.
    public static let text = "text"
    /// A number: an ``AuthorizationStatus``.
    public static let authorizationStatus = "authorizationStatus"
}
