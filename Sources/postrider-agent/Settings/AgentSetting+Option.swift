import PostriderAgent
import PostriderCommands
import PostriderNotifications
import PostriderOptions

extension AgentSetting {
    /// The command line option of the setting.
    var option: Option {
        switch self {
        case .relay:
            .value(
                rawValue, "HOST:PORT,…",
                "The relay's port for devices; further addresses of it are tried in turn.")
        case .ca:
            .file(
                rawValue, "The authorities of the relay's certificate, PEM; the system's if not given.")
        case .serverName:
            .value(rawValue, "NAME", "The name in the relay's certificate; the relay's host if not given.")
        case .proxy:
            .value(
                rawValue, "URL|off",
                "The proxy between agent and relay: http://[USER@]HOST:PORT (CONNECT) or socks5://…; off if "
                    + "not given, whatever HTTPS_PROXY says.")
        case .proxyPasswordFile: .file(rawValue, "A file with the password of the proxy's user.")
        case .state:
            .file(
                rawValue, as: "DIRECTORY", "The directory of identity, apps and inbox; created if missing.")
        case .socket:
            .file(
                rawValue, as: "PATH",
                "The Unix socket for apps; \(AgentSettings.usualSocket) if not given.")
        case .enrolmentKeyFile: .file(rawValue, "A file with the enrolment key.")
        case .deviceName:
            .value(rawValue, "NAME", "The name of the device; its host name if not given.")
        case .deviceTags:
            .value(
                rawValue, "TAG,…", "Words by which the relay's operator groups devices, sent at enrolment.")
        case .keepaliveSeconds:
            .value(rawValue, "NUMBER", "Seconds between PINGs; the relay's choice if not given.")
        case .notifications:
            .value(
                rawValue, "ANSWER",
                "The answer to apps that ask to notify: allow, deny, or ask (if not given), the user's.")
        case .appsDirectory:
            .file(
                rawValue, as: "DIRECTORY",
                "The manifests of apps and handlers that the agent starts, *.yaml; none if not given.")
        case .deliveryAttempts:
            .value(
                rawValue, "NUMBER",
                "How often an app gets a notification that it does not handle; "
                    + "\(Limits.deliveryAttempts.usual) if not given.")
        case .sessionBus:
            .value(
                rawValue, "BUS",
                "The bus of the desktop where alerts are shown: an address, off, or auto (if not given).")
        case .unifiedPush:
            .value(
                rawValue, "true|false",
                "Whether apps on the session bus can register by UnifiedPush; false if not given.")
        case .metricsAddress:
            .value(
                rawValue, "ADDRESS|off",
                "The address of /metrics, /livez and /readyz, which only this machine can reach, or unix: "
                    + "and a path; off if not given.")
        case .reports:
            .value(
                rawValue, "true|false",
                "Whether the relay gets reports about notifications for its trace; true if not given.")
        case .keyboardUser:
            .value(
                rawValue, "USER",
                "The user whose programs may be the input method, besides root's; the agent's own user if "
                    + "not given.")
        case .savePower:
            .value(
                rawValue, "WHEN",
                "When the relay may send notifications of priority 5 in groups: always, never, or auto (if "
                    + "not given): on battery.")
        case .onClone:
            .value(
                rawValue, "WHAT",
                "What to do if another machine uses the same identity: wait (if not given), or enrol-anew.")
        case .logLevel: .value(rawValue, "LEVEL", "error, warning, notice, info (if not given) or debug.")
        case .logFormat: .value(rawValue, "text|json|journal", LogFormat.help)
        }
    }
}
