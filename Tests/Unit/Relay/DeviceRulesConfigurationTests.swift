import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("The rules for devices of a configuration")
struct DeviceRulesConfigurationTests {
    private let day: Int64 = 24 * 60 * 60 * 1000

    @Test("days are counted from the last note, which is a day old at most")
    func configuration() throws {
        let address = try SocketAddress("127.0.0.1:0")
        var configuration = RelayConfiguration(
            providerAddresses: [address], deviceAddresses: [address], controlAddress: address,
            certificateChainFile: "", privateKeyFile: "", shards: 1, user: 0)
        #expect(DeviceRules(configuration).expiryMilliseconds == nil)
        #expect(DeviceRules(configuration).pushesPerSecond == Limits.pushesPerSecond)
        configuration.deviceExpiryDays = 30
        configuration.fidelity = .apple
        #expect(DeviceRules(configuration).expiryMilliseconds == 31 * day)
        #expect(DeviceRules(configuration).storage == .latest)
    }
}
