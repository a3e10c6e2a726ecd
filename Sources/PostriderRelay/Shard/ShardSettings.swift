import PostriderNotifications

/// What the configuration says about the work of a shard.
struct ShardSettings: Sendable {
    /// How closely the relay keeps to Apple.
    var compatibility = APNsCompatibility()
    /// Whose code carries HTTP/2.
    var protocolCode = ProtocolCode()
    var deviceRules = DeviceRules()
    /// Which of the devices that return at once are let in.
    var throttle = ReconnectThrottle()
    /// Whether there is a listener for providers of the development environment.
    var hasDevelopment = true
    /// How long a provider's connection may stay without a request.
    var providerIdleMilliseconds = Limits.providerIdleSeconds.usual * 1000
    /// What captures requests and has rules decide about pushes; nil: nothing does, as in production.
    var bench: TestBench?
}

extension ShardSettings {
    /// The settings that a configuration makes.
    init(_ configuration: RelayConfiguration) {
        compatibility = configuration.fidelity
        protocolCode = configuration.protocolCode
        deviceRules = DeviceRules(configuration)
        throttle = ReconnectThrottle(places: configuration.deviceFetches)
        hasDevelopment = !configuration.developmentProviderAddresses.isEmpty
        providerIdleMilliseconds = configuration.providerIdleSeconds * 1000
        bench = configuration.bench
    }
}
