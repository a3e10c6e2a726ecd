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
        guard provider != device || provider.port == 0 else {
            throw mistake(.deviceAddress, "is \(device) like the providers' address; choose another port")
        }
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
        let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
        let logLevel = try value(.logLevel, form: "one of \(levels)", LogLevel.init(rawValue:))
        return ForRelay(relay: relay, dataDirectory: dataDirectory, logLevel: logLevel?.level ?? .info)
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

    private func internetAddress(_ setting: Setting) throws -> SocketAddress? {
        try value(setting, form: "an address and a port such as 0.0.0.0:2197 or [::1]:2197") { text in
            (try? SocketAddress(text)).flatMap { $0.unixPath == nil ? $0 : nil }
        }
    }
}
