/// Options for how closely the relay follows Apple where most operators would not want that by default.
public struct APNsCompatibility: Hashable, Sendable {
    /// How many notifications may wait for an absent device.
    public enum StorageDepth: String, CaseIterable, Sendable {
        /// All of them, up to a bound: the default.
        case queue
        /// The newest of each app, as with Apple ("Sending notification requests to APNs").
        case latest
    }

    /// Whether pushes are refused whose type, topic and priority do not fit together.
    public var isStrict = false
    /// How many notifications may wait for an absent device.
    public var storage = StorageDepth.queue
    /// Whether reasons are spelled as Apple's service spells them where its documentation differs.
    public var usesLiveSpellings = false
    /// Whether a connection may have only one stream open until its first authenticated push.
    public var rampsStreamLimit = false

    /// The defaults, for production.
    public init() {}

    /// Everything as at Apple.
    public static let apple: APNsCompatibility = {
        var fidelity = APNsCompatibility()
        fidelity.isStrict = true
        fidelity.storage = .latest
        fidelity.usesLiveSpellings = true
        fidelity.rampsStreamLimit = true
        return fidelity
    }()
}
