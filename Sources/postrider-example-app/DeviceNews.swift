import PostriderKit

/// Prints changes of the device's state.
enum DeviceNews {
    /// Observes all of them as long as the result is held.
    static func observations(
        of application: Application, _ dispatcher: NotificationDispatcher,
        say: @escaping @Sendable (String) -> Void
    ) -> [Observation] {
        [
            dispatcher.addObserver(sender: application) { notification in
                guard notification.name.isSystems else { return }
                let name = notification.name.rawValue.split(separator: ".").last ?? ""
                guard let movement = KeyboardMovement(userInfo: notification.userInfo) else {
                    let news = notification.userInfo.sorted { $0.key < $1.key }
                        .compactMap { key, value in value.string.map { "\(key): \($0)" } }
                    return say(([String(name)] + news).joined(separator: ", "))
                }
                say("\(name) \(text(movement.frameBegin)) to \(text(movement.frameEnd))")
            }
        ]
    }

    private static func text(_ frame: KeyboardMovement.Frame) -> String {
        "\(frame.x),\(frame.y),\(frame.width),\(frame.height)"
    }
}
