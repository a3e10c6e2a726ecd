import PostriderClients
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderTransport

/// Makes the clients of the link: a new one for each identity.
struct DeviceClientMaker {
    let configuration: AgentConfiguration
    /// The addresses of the relay, in the order of preference.
    let relays: [Server]
    let entropy = Entropy()
    private unowned let loop: EventLoop
    /// Identifies this process to the relay.
    private let processInstance: UInt64

    init(_ configuration: AgentConfiguration, to relays: [Server], on loop: EventLoop) {
        self.configuration = configuration
        self.relays = relays
        self.loop = loop
        processInstance = max(1, entropy.next())
    }

    /// A client with this identity that has not been started.
    ///
    /// - Parameter topics: the topics that the device wants, each with its environment.
    func makeClient(
        as device: EnrollResponse, topics: [String: Environment], delegate: any DeviceClientDelegate
    ) -> DeviceClient {
        var client = DeviceClient.Configuration(
            relays: relays, identity: device.deviceIdentity, secret: device.deviceSecret,
            agent: configuration.version)
        client.keepaliveSeconds = configuration.keepaliveSeconds
        client.processInstance = processInstance
        client.returnsWhenReplaced = true
        return DeviceClient(
            client, topics: topics, on: loop, random: { [entropy] in entropy.next() }, delegate: delegate)
    }
}
