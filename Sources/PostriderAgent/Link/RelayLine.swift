import PostriderCourier
import PostriderNotifications

/// What the desk asks of the link to the relay.
protocol RelayLine: AnyObject {
    /// Asks for a token that is good in this environment, now or with the next welcome.
    func register(_ topic: String, in environment: Environment)
    /// Gives a topic up, now or with the next welcome.
    func unregister(_ topic: String)
    /// Asks for a channel's broadcasts, if there is a link.
    func subscribe(_ subscription: Subscribe)
    /// Asks for no more of them, if there is a link.
    func unsubscribe(from channel: ChannelIdentity)
    /// Says how the device wants to be sent what waits, now and with every link.
    func receive(by reception: Reception)
    /// Asks for what is held back, if there is a link: somebody uses the device.
    func fetch()
    /// Takes responsibility for deliveries of the present link.
    func acknowledge(_ deliveries: [UInt64])
    /// Tells what became of notifications. False: there is no link.
    func report(_ report: Report) -> Bool
    /// Ends the present link, on which something cannot be acknowledged: with the next one it comes again.
    func startAnew()
}
