import PostriderCommands
import PostriderNotifications
import PostriderProviderAPI
import PostriderRelay

extension PushExtensions {
    /// The extensions of a provider's certificate that is valid in both environments, for these topics and for those
    /// of their VoIP pushes and complications, as Apple's are.
    init(inBothEnvironments topics: [Topic]) {
        self.init()
        self.topics = topics.flatMap { topic in
            ["", ".voip", ".complication"].compactMap { Topic(topic.text + $0)?.text }
        }
        isForDevelopment = true
        isForProduction = true
    }
}
