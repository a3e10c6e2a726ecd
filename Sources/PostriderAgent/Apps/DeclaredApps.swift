import PostriderCourier
import PostriderNotifications

/// What the operator has declared about apps and handlers.
final class DeclaredApps {
    /// The manifests by topic.
    private(set) var manifests: [String: AppManifest]
    /// The user of each declared topic, with a manifest or without.
    private(set) var users: [String: UInt32]

    init(_ manifests: [AppManifest], users: [String: UInt32]) {
        self.manifests = Self.byTopic(manifests)
        self.users = users
    }

    /// Takes new declarations.
    func declare(_ manifests: [AppManifest], users: [String: UInt32]) {
        self.manifests = Self.byTopic(manifests)
        self.users = users
    }

    private static func byTopic(_ manifests: [AppManifest]) -> [String: AppManifest] {
        Dictionary(manifests.map { ($0.topic, $0) }) { first, _ in first }
    }

    /// The manifest of a topic; nil if there is none.
    subscript(topic: String) -> AppManifest? { manifests[topic] }

    /// How many milliseconds an app may take for a delivery; nil for no bound.
    func handlerMilliseconds(of topic: String) -> Int? {
        // The distributor waits for apps that are not there.
        guard !RegisterWebPush.hasForm(topic) else { return nil }
        guard let manifest = manifests[topic] else { return Limits.handlerSeconds.usual * 1000 }
        // Each run of a handler has its own time limit.
        guard manifest.handler == nil else { return nil }
        return manifest.handlerSeconds.map { $0 * 1000 }
    }
}
