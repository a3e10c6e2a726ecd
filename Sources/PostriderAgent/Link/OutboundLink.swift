import PostriderCourier

/// What the parts of an agent ask of the link to the relay.
protocol OutboundLink: AnyObject {
    /// Whether the relay has welcomed the device and the link has not ended since.
    var isUp: Bool { get }
    /// The address of the relay that the link goes to; nil if it is not up.
    var place: String? { get }
    /// Sends something to the relay, now or after the next welcome, and returns whether it was sent now: see
    /// ``DeviceClient/send(_:)``. Acknowledgements belong to the current link.
    @discardableResult
    func send(_ message: DeviceMessage) -> Bool
    /// Asks whether the relay has received what was sent; ``LinkEvent/confirmed`` follows if so. Returns false if the
    /// link is not up.
    func confirm() -> Bool
    /// Ends the current link, because something on it cannot be acknowledged: the relay sends it again over the next
    /// one.
    func startAnew()
    /// Says goodbye, because a device that sleeps can receive nothing.
    func sleep()
    /// Connects at once, because the device is awake.
    func wake()
}
