import PostriderCourier

/// What the app router asks of the link to the relay.
protocol RelayLine: AnyObject {
    /// Tells the relay something, now or with the next welcome, and returns whether it was sent now: see
    /// ``DeviceClient/send(_:)``. Acknowledgements are those of the present link.
    @discardableResult
    func send(_ message: DeviceMessage) -> Bool
    /// Ends the present link, on which something cannot be acknowledged: with the next one it comes again.
    func startAnew()
}
