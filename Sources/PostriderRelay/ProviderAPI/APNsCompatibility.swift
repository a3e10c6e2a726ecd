/// How closely the relay keeps to Apple where that is not what an operator would want by default.
public struct APNsCompatibility: Hashable, Sendable {
    /// How many notifications wait for an absent device.
    public enum StorageDepth: String, CaseIterable, Sendable {
        /// All of them, bounded: ours.
        case queue
        /// The newest of each app: Apple's ("Sending notification requests to APNs").
        case latest
    }

    /// Whether pushes whose type, topic and priority do not belong together are refused.
    public var isStrict = false
    /// How many notifications wait for an absent device.
    public var storage = StorageDepth.queue
    /// Whether reasons are spelled as the service spells them where that differs from the documentation.
    public var usesLiveSpellings = false
    /// Whether a connection may have one stream open until its first authenticated push.
    public var rampsStreamLimit = false

    /// What suits production.
    public init() {}

    /// Everything as Apple does it.
    public static let apple: APNsCompatibility = {
        var fidelity = APNsCompatibility()
        fidelity.isStrict = true
        fidelity.storage = .latest
        fidelity.usesLiveSpellings = true
        fidelity.rampsStreamLimit = true
        return fidelity
    }()
}
