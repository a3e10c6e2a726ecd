extension NotificationName {
    /// A push has arrived. Its sender is the ``Application`` that it is for, its user info the payload as the
    /// provider wrote it: `userInfo["aps"]?["alert"]?["title"]?.string`. When every observer has returned it counts
    /// as handled.
    public static let remoteNotificationDidArrive = NotificationName(
        rawValue: "postrider.remoteNotificationDidArrive")

    /// The application has a device token, for the first time or a new one: tell the provider. User info:
    /// ``RegistrationKey/deviceToken``.
    public static let deviceTokenDidChange = NotificationName(rawValue: "postrider.deviceTokenDidChange")

    /// The application has no device token, or none any more. It is asked for again with each new connection to the
    /// agent. User info: ``RegistrationKey/reason``.
    public static let registrationDidFail = NotificationName(rawValue: "postrider.registrationDidFail")
}

/// The names of what registrations tell in their user info.
public enum RegistrationKey {
    /// A text of 64 hexadecimal digits, as providers write it into the path of their requests.
    public static let deviceToken = "deviceToken"
    /// A text: one sentence for a person.
    public static let reason = "reason"
}
