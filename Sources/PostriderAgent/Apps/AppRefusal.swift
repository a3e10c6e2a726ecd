import PostriderNotifications

/// Why the agent refuses an app's registration.
enum AppRefusal: Error {
    case notATopic
    case notYours(Topic)
    case hasHandler(Topic)
    case tooMany

    var reason: String {
        switch self {
        case .notATopic: "This is no topic: write a bundle identifier such as com.example.app."
        case .notYours(let topic): "The topic \(topic) belongs to another user of this device."
        case .hasHandler(let topic):
            "The topic \(topic) has a handler ('run' or 'systemd-unit' of its manifest), and no app."
        case .tooMany: "This device has too many apps."
        }
    }
}
