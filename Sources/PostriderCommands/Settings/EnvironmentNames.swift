import PostriderYAML

/// The environment variables of Postrider's programs.
package enum EnvironmentNames {
    /// The prefix of all of them.
    package static let prefix = "POSTRIDER_"

    /// The variable that names the configuration file of a relay.
    package static let relayFile = "POSTRIDER_CONFIG"
    /// The variable that names the configuration file of an agent.
    package static let agentFile = "POSTRIDER_AGENT_CONFIG"
    /// The variable that holds the enrolment key of a device.
    package static let enrolmentKey = "POSTRIDER_ENROLMENT_KEY"

    /// All variables that have a meaning: those of every command, and those that the agent sets for apps.
    package static let known: [String] =
        Setting.allCases.map(\.variable) + AgentSetting.allCases.map(\.variable) + [
            relayFile, agentFile, enrolmentKey,
            "POSTRIDER_AGENT_SOCKET", "POSTRIDER_TOPIC", "POSTRIDER_LAUNCH_REASON",
        ]

    /// Refuses a variable that is probably a misspelt one of ours. Other variables with our prefix are ignored:
    /// Kubernetes, for example, sets `POSTRIDER_PORT` in every process of a namespace with a service of our name.
    ///
    /// - Throws: ``CommandFailure`` with exit code 2.
    package static func refuseMisspelt(in environment: [String: String]) throws(CommandFailure) {
        for name in environment.keys.sorted() where name.hasPrefix(prefix) && !known.contains(name) {
            let words = known.map { String($0.dropFirst(prefix.count)) }
            let suffix = String(name.dropFirst(prefix.count))
            guard let meant = Spelling.closest(to: suffix, of: words, atMost: 2) else { continue }
            throw CommandFailure(
                "\(name) in the environment is not a setting; did you mean \(prefix)\(meant)?", exitCode: 2)
        }
    }
}
