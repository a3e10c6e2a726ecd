extension Limits {
    /// The most tags of a device. At about 32 bytes each: 1 KiB.
    public static let tagsPerDevice = 32
    /// The most different tags of all devices of a relay.
    public static let tagsPerRelay = 1000
    /// The most labels that are assigned in one transaction when the relay is started.
    public static let labelsAtOnce = 1024
}
