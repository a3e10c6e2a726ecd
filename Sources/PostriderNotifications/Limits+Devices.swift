extension Limits {
    /// Tags that a device may have. At about 32 bytes each: 1 KiB.
    public static let tagsPerDevice = 32
    /// Different tags that the devices of a relay may have.
    public static let tagsPerRelay = 1000
    /// Labels that are given to devices in one transaction when the relay is started.
    public static let labelsAtOnce = 1024
}
