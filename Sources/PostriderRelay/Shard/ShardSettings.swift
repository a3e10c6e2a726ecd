import PostriderCallbacks
import PostriderDeviceQueue
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

/// The settings of the configuration that concern shards.
struct ShardSettings: Sendable {
    /// How closely the relay follows Apple.
    var compatibility = APNsCompatibility()
    /// Whose code handles HTTP/2.
    var protocolCode = ProtocolCode()
    var deviceRules = DeviceRules()
    /// Decides which of many returning devices are let in.
    var throttle = ReconnectThrottle()
    /// Whether there is a listener for providers of the development environment.
    var hasDevelopment = true
    /// How long a provider's connection may stay without a request.
    var providerIdleMilliseconds = Limits.providerIdleSeconds.usual * 1000
    /// Captures requests and applies rules to pushes; nil on a relay in production.
    var bench: TestBench?
    /// The callbacks that the operator allows; nil if they are off.
    var callbacks: CallbackConfiguration?
    /// The providers' keys that may look up devices.
    var lookups = LookupPermissions()
    /// One of this many pushes is traced; nil for none. Only a reload reads it: a shard starts with its recorder.
    var traceSample: Int?
    /// The quotas of teams and topics, shared with all shards.
    var quotas = QuotaSet([])
    /// The origin of the addresses of Web Push subscriptions; empty if there is no web port.
    var webOrigin = ""
    /// The load balancers that say whose connections they forward.
    var loadBalancers = NetworkList()
    /// The presence of devices, shared with all threads.
    var presence = PresenceExchange()
}

extension ShardSettings {
    /// The settings of a configuration.
    init(_ configuration: RelayConfiguration) {
        compatibility = configuration.fidelity
        protocolCode = configuration.protocolCode
        deviceRules = DeviceRules(configuration)
        throttle = ReconnectThrottle(places: configuration.deviceFetches)
        hasDevelopment = !configuration.developmentProviderAddresses.isEmpty
        providerIdleMilliseconds = configuration.providerIdleSeconds * 1000
        bench = configuration.bench
        callbacks = configuration.callbacks
        lookups = LookupPermissions(
            keys: configuration.lookupKeys, allKeys: configuration.lookupAllKeys)
        traceSample = configuration.traceSample
        webOrigin = configuration.web?.origin ?? ""
        loadBalancers = configuration.loadBalancers
    }
}
