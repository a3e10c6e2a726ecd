import PostriderCourier

/// What the app router asks of the link to the relay.
protocol OutboundLink: AnyObject {
    /// Sends something to the relay, now or after the next welcome, and returns whether it was sent now: see
    /// ``DeviceClient/send(_:)``. Acknowledgements belong to the current link.
    @discardableResult
    func send(_ message: DeviceMessage) -> Bool
    /// Asks whether the relay has received what was sent; ``Reporter/confirmed()`` is called if so. Returns false if
    /// the link is not up.
    func confirm() -> Bool
    /// Ends the current link, because something on it cannot be acknowledged: the relay sends it again over the next
    /// one.
    func startAnew()
}
