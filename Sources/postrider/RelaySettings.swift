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
        let certificate = try required(.certificate)
        let privateKey = try required(.privateKey)
        let dataDirectory = try required(.dataDirectory)
        var relay = RelayConfiguration(
            providerAddress: provider,
            deviceAddress: device,
            controlAddress: try controlAddress(),
            certificateChainFile: certificate,
            privateKeyFile: privateKey,
            shards: try value(.shards, form: "a whole number from 1 to 256") {
                Int($0).flatMap { (1...256).contains($0) ? $0 : nil }
            } ?? Self.usualShards,
            user: geteuid()
        )
        relay.providerTrustFile = self[.providerTrust]
        relay.developmentProviderAddress = development
        let idle = Limits.providerIdleSeconds
        relay.providerIdleSeconds =
            try value(.providerIdleSeconds, form: "a whole number from \(idle.least) to \(idle.most)") {
                Int($0).flatMap { (idle.least...idle.most).contains($0) ? $0 : nil }
            } ?? idle.usual
        let rate = try value(.pushesPerSecond, form: "a whole number from 0 to 1000000") {
            Int($0).flatMap { (0...1_000_000).contains($0) ? $0 : nil }
        }
        if let rate { relay.pushesPerSecond = rate == 0 ? nil : rate }
        relay.deviceExpiryDays = try value(.deviceExpiryDays, form: "a whole number from 1 to 36500") {
            Int($0).flatMap { (1...36_500).contains($0) ? $0 : nil }
        }
        try relay.fidelity.read { setting, words in
            try value(setting, form: "one of \(words.joined(separator: ", "))") {
                words.contains($0) ? $0 : nil
            }
        }
        relay.sourceConnections = try count(.sourceConnections)
        relay.sourceRate = try count(.sourceRate) ?? relay.sourceRate
        relay.traceSample = try traceSample()
        let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
        let logLevel = try value(.logLevel, form: "one of \(levels)", LogLevel.init(rawValue:))
        return ForRelay(relay: relay, dataDirectory: dataDirectory, logLevel: logLevel?.level ?? .info)
    }

    /// One push of how many is traced; nil: none is.
    private func traceSample() throws -> Int? {
        let isTraced = try value(.trace, form: "true or false") { ["true": true, "false": false][$0] }
        let sample = try value(
            .traceSample, form: "a whole number from 1 to \(Limits.traceSample)"
        ) { Int($0).flatMap { (1...Limits.traceSample).contains($0) ? $0 : nil } }
        return isTraced == false ? nil : sample ?? 1
    }

    /// As many shards as there are cores that this process may use.
    static var usualShards: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 256) }

    /// Where the operator's commands connect.
    func controlAddress() throws -> SocketAddress {
        let set = try value(.controlAddress, form: "unix: and the path of a socket, 107 bytes at most") {
            text in
            (try? SocketAddress(text)).flatMap { $0.unixPath == nil ? nil : $0 }
        }
        if let set { return set }
        let directory = try required(.dataDirectory)
        do throws(TransportError) {
            return try SocketAddress(unixPath: directory + "/control.sock")
        } catch {
            throw mistake(
                .dataDirectory, "is too long for the control socket in it; set control-address as well")
        }
    }

    /// Nobody can listen twice at one address.
    private func requireDistinct(_ addresses: [(setting: Setting, address: SocketAddress?)]) throws {
        var taken: [(setting: Setting, address: SocketAddress)] = []
        for (setting, address) in addresses {
            guard let address, address.port != 0 else { continue }
            if let other = taken.first(where: { $0.address == address }) {
                throw mistake(
                    setting, "is \(address) like \(other.setting.rawValue); choose another port")
            }
            taken.append((setting, address))
        }
    }

    private func count(_ setting: Setting) throws -> Int? {
        try value(setting, form: "a whole number from 1 to 1000000") {
            Int($0).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
        }
    }

    private func internetAddress(_ setting: Setting) throws -> SocketAddress? {
        try value(setting, form: "an address and a port such as 0.0.0.0:2197 or [::1]:2197") { text in
            (try? SocketAddress(text)).flatMap { $0.unixPath == nil ? $0 : nil }
        }
    }
}
