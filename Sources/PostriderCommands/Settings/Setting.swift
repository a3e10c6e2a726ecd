/// A setting of the relay. Its name is the same in all sources: `--data-directory` on the command line,
/// `POSTRIDER_DATA_DIRECTORY` in the environment, `data-directory:` in the configuration file.
package enum Setting: String, SettingName {
    case providerAddress = "provider-address"
    case developmentProviderAddress = "development-provider-address"
    case deviceAddress = "device-address"
    case controlAddress = "control-address"
    case metricsAddress = "metrics-address"
    case metricsToken = "metrics-token"
    case webAddress = "web-address"
    case publicURL = "public-url"
    case consoleAddress = "console-address"
    case consolePayloads = "console-payloads"
    case certificate = "certificate"
    case privateKey = "private-key"
    case privateKeyGroup = "private-key-group"
    case providerTrust = "provider-trust"
    case tlsRecords = "tls-records"
    case dataDirectory = "data-directory"
    case store = "store"
    case acceptLosses = "accept-unsafe-database"
    case nodeName = "node-name"
    case clusterAddress = "cluster-address"
    case clusterPublicAddress = "cluster-public-address"
    case clusterCertificate = "cluster-certificate"
    case clusterKey = "cluster-key"
    case clusterTrust = "cluster-trust"
    case sourceConnections = "source-connections"
    case sourceRate = "source-rate"
    case loadBalancers = "load-balancers"
    case shards = "shards"
    case busyPollingMicroseconds = "busy-polling-microseconds"
    case providerIdleSeconds = "provider-idle-seconds"
    case pushesPerSecond = "pushes-per-second"
    case quotas = "quotas"
    case deviceFetches = "device-fetches"
    case deviceExpiryDays = "device-expiry-days"
    case onPresence = "on-presence"
    case lookupKeys = "lookup-keys"
    case lookupAllKeys = "lookup-all-keys"
    case callbackAllow = "callback-allow"
    case callbackSecret = "callback-secret"
    case otlpEndpoint = "otlp-endpoint"
    case otlpSample = "otlp-sample"
    case strictness = "strictness"
    case storage = "storage"
    case spellings = "spellings"
    case streamLimitRamp = "stream-limit-ramp"
    case requestHeaders = "request-headers"
    case deviceLinks = "device-links"
    case trace = "trace"
    case traceSample = "trace-sample"
    case traceMebibytes = "trace-mebibytes"
    case capture = "capture"
    case capturesAddress = "captures-address"
    case logLevel = "log-level"
    case logFormat = "log-format"

    package static let reloaded: Set<Setting> = [
        .certificate, .privateKey, .privateKeyGroup, .providerTrust, .tlsRecords, .metricsToken,
        .sourceConnections, .sourceRate, .providerIdleSeconds, .pushesPerSecond, .quotas, .deviceFetches,
        .busyPollingMicroseconds, .deviceExpiryDays, .lookupKeys, .lookupAllKeys, .strictness, .storage,
        .spellings,
        .streamLimitRamp, .loadBalancers, .clusterCertificate, .clusterKey, .clusterTrust,
        .requestHeaders, .deviceLinks, .traceSample, .logLevel, .logFormat,
    ]

    /// The settings that a reload does not apply; docs/operate/certificates.md says why.
    package static let keptFromStart: Set<Setting> = [
        .providerAddress, .developmentProviderAddress, .deviceAddress, .controlAddress, .metricsAddress,
        .webAddress, .publicURL, .consoleAddress, .consolePayloads, .dataDirectory, .store, .acceptLosses,
        .nodeName, .clusterAddress, .clusterPublicAddress,
        .shards, .onPresence,
        .callbackAllow, .callbackSecret, .otlpEndpoint, .otlpSample, .trace, .traceMebibytes, .capture,
        .capturesAddress,
    ]

    package static let lists: Set<Setting> = [
        .providerAddress, .developmentProviderAddress, .deviceAddress, .webAddress, .privateKeyGroup,
        .onPresence,
        .lookupKeys, .lookupAllKeys, .callbackAllow, .quotas, .loadBalancers,
    ]

    package static let words: Set<Setting> = [.onPresence, .callbackAllow, .quotas]

    /// The settings that say how closely the relay follows APNs (docs/concepts/fidelity.md).
    package static let fidelity: [Setting] = [.strictness, .storage, .spellings, .streamLimitRamp]
}
