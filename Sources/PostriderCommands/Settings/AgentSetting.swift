/// A setting of the agent: `--state` on the command line, `POSTRIDER_STATE` in the environment, `state:` in the file.
package enum AgentSetting: String, SettingName {
    case relay
    case ca
    case serverName = "server-name"
    case proxy
    case proxyPasswordFile = "proxy-password-file"
    case state
    case socket
    case enrolmentKeyFile = "enrolment-key-file"
    case deviceName = "device-name"
    case deviceTags = "device-tags"
    case keepaliveSeconds = "keepalive-seconds"
    case notifications
    case appsDirectory = "apps-directory"
    case deliveryAttempts = "delivery-attempts"
    case reports
    case keyboardUser = "keyboard-user"
    case savePower = "save-power"
    case onClone = "on-clone"
    case sessionBus = "session-bus"
    case unifiedPush = "unifiedpush"
    case metricsAddress = "metrics-address"
    case logLevel = "log-level"
    case logFormat = "log-format"

    package static let reloaded: Set<AgentSetting> = [
        .appsDirectory, .notifications, .deliveryAttempts, .reports, .savePower, .keyboardUser, .logLevel,
        .logFormat,
    ]

    package static let lists: Set<AgentSetting> = [.relay, .deviceTags]
}
