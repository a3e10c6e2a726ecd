import PostriderNotifications
import PostriderOptions

/// A setting of the relay. Its name is the same in all sources: `--data-directory` on the command line,
/// `POSTRIDER_DATA_DIRECTORY` in the environment, `data-directory:` in the configuration file.
enum Setting: String, SettingName {
    case providerAddress = "provider-address"
    case developmentProviderAddress = "development-provider-address"
    case deviceAddress = "device-address"
    case controlAddress = "control-address"
    case metricsAddress = "metrics-address"
    case metricsToken = "metrics-token"
    case certificate = "certificate"
    case privateKey = "private-key"
    case privateKeyGroup = "private-key-group"
    case providerTrust = "provider-trust"
    case tlsRecords = "tls-records"
    case dataDirectory = "data-directory"
    case sourceConnections = "source-connections"
    case sourceRate = "source-rate"
    case shards = "shards"
    case busyPollingMicroseconds = "busy-polling-microseconds"
    case providerIdleSeconds = "provider-idle-seconds"
    case pushesPerSecond = "pushes-per-second"
    case deviceFetches = "device-fetches"
    case deviceExpiryDays = "device-expiry-days"
    case onPresence = "on-presence"
    case strictness = "strictness"
    case storage = "storage"
    case spellings = "spellings"
    case streamLimitRamp = "stream-limit-ramp"
    case requestHeaders = "request-headers"
    case deviceLinks = "device-links"
    case trace = "trace"
    case traceSample = "trace-sample"
    case capture = "capture"
    case logLevel = "log-level"

    static let reloaded: Set<Setting> = [
        .certificate, .privateKey, .privateKeyGroup, .providerTrust, .metricsToken, .logLevel,
    ]

    static let lists: Set<Setting> = [
        .providerAddress, .developmentProviderAddress, .deviceAddress, .privateKeyGroup, .onPresence,
    ]

    static let words: Set<Setting> = [.onPresence]

    /// The settings that say how closely the relay follows APNs (docs/concepts/fidelity.md).
    static let fidelity: [Setting] = [.strictness, .storage, .spellings, .streamLimitRamp]

    /// The environment variable of the setting.
    var variable: String { Self.variable(rawValue) }

    /// The command line option of the setting.
    var option: Option { Option(name: rawValue, argument: argument, help: help) }

    /// The environment variable of a setting with this name.
    static func variable(_ name: String) -> String {
        "POSTRIDER_" + name.uppercased().replacing("-", with: "_")
    }

    private var argument: Option.Argument {
        switch self {
        case .providerAddress, .developmentProviderAddress, .deviceAddress: .required("ADDRESS,…")
        case .privateKeyGroup: .required("GROUP,…")
        case .onPresence: .required("PROGRAM,ARGUMENT,…")
        case .controlAddress: .required("unix:PATH")
        case .metricsAddress: .required("ADDRESS|off")
        case .certificate, .privateKey, .providerTrust, .metricsToken: .file("FILE")
        case .dataDirectory: .file("DIRECTORY")
        case .shards, .busyPollingMicroseconds, .providerIdleSeconds, .pushesPerSecond, .deviceFetches,
            .deviceExpiryDays, .sourceConnections, .sourceRate, .traceSample:
            .required("NUMBER")
        case .strictness, .storage, .spellings, .requestHeaders, .deviceLinks, .tlsRecords: .required("WORD")
        case .streamLimitRamp, .trace, .capture: .required("true|false")
        case .logLevel: .required("LEVEL")
        }
    }

    private var help: String {
        switch self {
        case .providerAddress:
            "Where providers connect, one address or several; 0.0.0.0:2197 if not given. *:2197 is all of "
                + "this machine's. Port 0: any free one."
        case .developmentProviderAddress:
            "Where providers connect for the development environment; nowhere if not given."
        case .deviceAddress: "Where devices connect; 0.0.0.0:5223 if not given."
        case .controlAddress:
            "The Unix socket of the operator's commands; control.sock in the data directory if not given."
        case .metricsAddress:
            "Where /metrics, /livez and /readyz are served; \(Settings.usualMetricsAddress) if not given. "
                + "Other machines' addresses need --metrics-token."
        case .metricsToken: "The SHA-256 of each bearer token that may read the metrics, one a line."
        case .certificate: "The relay's certificate and those above it, PEM."
        case .privateKey: "The key of the certificate, PEM; a file that nobody else can read."
        case .privateKeyGroup: "Groups whose members may read the key, besides root's; none if not given."
        case .providerTrust:
            "The certificates, PEM, under which providers' client certificates are good; if not given, "
                + "providers are known by their tokens only."
        case .tlsRecords:
            "own (if not given) or openssl: whether OpenSSL keeps protecting TLS 1.3 connections behind the "
                + "handshake."
        case .dataDirectory: "Where everything is kept that must not be lost; made if it is not there."
        case .sourceConnections:
            "Connections that one source address may have open; half of the descriptors if not given."
        case .sourceRate:
            "Connections that one source address may begin each second; \(Limits.sourceRate) if not given."
        case .shards: "Event loops, each with a thread of its own; as many as there are cores if not given."
        case .busyPollingMicroseconds:
            "How long a shard looks for more to do before it sleeps; 0, not at all, if not given."
        case .providerIdleSeconds:
            "How long a provider's connection may be without a push; \(Limits.providerIdleSeconds.usual) if "
                + "not given."
        case .pushesPerSecond:
            "Pushes a second that a device token takes; \(Limits.pushesPerSecond) if not given, 0: no limit."
        case .deviceFetches:
            "Devices for which a shard fetches what waits at once, while others are told to come back; "
                + "\(Limits.fetches.usual) if not given."
        case .deviceExpiryDays:
            "After how many days without its device a device token is expired; never if not given."
        case .onPresence:
            "A program, with its arguments, that is run when devices connect and leave; none if not given."
        case .strictness:
            "strict: refuse pushes whose type, topic and priority do not belong together; lenient if not "
                + "given."
        case .storage:
            "What waits for an absent device: queue (all, bounded; if not given) or latest (one for each "
                + "app)."
        case .spellings: "documented (if not given) or live: how reasons are spelled where Apple does both."
        case .streamLimitRamp:
            "Whether a provider may have one stream open until its first good push; false if not given."
        case .requestHeaders:
            "Who decodes the header blocks of providers' requests: own (if not given) or nghttp2."
        case .deviceLinks:
            "What carries a device's link once it is open: lean (if not given; no nghttp2) or nghttp2."
        case .trace: "Whether the lives of pushes are written down for 'postrider trace'; true if not given."
        case .traceSample: "Trace one push of so many; 1, every push, if not given."
        case .capture:
            "Whether requests are kept for 'postrider captures'; false if not given, and only for a relay "
                + "that listens to this machine alone."
        case .logLevel: "error, warning, notice, info (if not given) or debug."
        }
    }
}
