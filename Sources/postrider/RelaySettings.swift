import Foundation
import Glibc
import Notifications
import Relay
import Transport

extension Settings {
    /// Everything that `postrider serve` needs to know.
    struct ForRelay {
        let relay: RelayConfiguration
        let dataDirectory: String
        let logLevel: Log.Level
    }

    /// What the relay is to do; throws at the first mistake.
    func forRelay() throws -> ForRelay {
        let provider = try internetAddress(.providerAddress) ?? SocketAddress("0.0.0.0:2197")
        let device = try internetAddress(.deviceAddress) ?? SocketAddress("0.0.0.0:5223")
        let development = try internetAddress(.developmentProviderAddress)
        try requireDistinct([
            (.providerAddress, provider), (.developmentProviderAddress, development),
            (.deviceAddress, device),
        ])
        let certificate = try texts.required(.certificate)
        let privateKey = try texts.required(.privateKey)
        let dataDirectory = try texts.required(.dataDirectory)
        var relay = RelayConfiguration(
            providerAddress: provider,
            deviceAddress: device,
            controlAddress: try controlAddress(),
            certificateChainFile: certificate,
            privateKeyFile: privateKey,
            shards: Self.usualShards,
            user: geteuid()
        )
        relay.providerTrustFile = texts[.providerTrust]
        relay.developmentProviderAddress = development
        let idle = Limits.providerIdleSeconds
        relay.providerIdleSeconds =
            try texts.number(.providerIdleSeconds, in: idle.least...idle.most) ?? idle.usual
        relay.deviceExpiryDays = try texts.number(.deviceExpiryDays, in: 1...36_500)
        try relay.fidelity.read { setting, words in
            try texts.value(setting, form: "one of \(words.joined(separator: ", "))") {
                words.contains($0) ? $0 : nil
            }
        }
        try relay.readBounds { setting, range in
            try texts.number(setting, in: range)
        } _: { setting, words in
            try texts.value(setting, form: words.joined(separator: " or ")) { words.contains($0) ? $0 : nil }
        }
        let logLevel = try texts.choice(.logLevel, of: LogLevel.self)
        return ForRelay(relay: relay, dataDirectory: dataDirectory, logLevel: logLevel?.level ?? .info)
    }

    /// As many shards as there are cores that this process may use.
    static var usualShards: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 256) }

    /// Where the operator's commands connect.
    func controlAddress() throws -> SocketAddress {
        let form = "unix: and the path of a socket, 107 bytes at most"
        let set = try texts.value(.controlAddress, form: form) { text in
            (try? SocketAddress(text)).flatMap { $0.unixPath == nil ? nil : $0 }
        }
        if let set { return set }
        let directory = try texts.required(.dataDirectory)
        do throws(TransportError) {
            return try SocketAddress(unixPath: directory + "/control.sock")
        } catch {
            throw texts.mistake(
                .dataDirectory, "is too long for the control socket in it; set control-address as well")
        }
    }

    /// Nobody can listen twice at one address.
    private func requireDistinct(_ addresses: [(setting: Setting, address: SocketAddress?)]) throws {
        var taken: [(setting: Setting, address: SocketAddress)] = []
        for (setting, address) in addresses {
            guard let address, address.port != 0 else { continue }
            if let other = taken.first(where: { $0.address == address }) {
                throw texts.mistake(
                    setting, "is \(address) like \(other.setting.rawValue); choose another port")
            }
            taken.append((setting, address))
        }
    }

    private func internetAddress(_ setting: Setting) throws -> SocketAddress? {
        try texts.value(setting, form: "an address and a port such as 0.0.0.0:2197 or [::1]:2197") { text in
            (try? SocketAddress(text)).flatMap { $0.unixPath == nil ? $0 : nil }
        }
    }
}
