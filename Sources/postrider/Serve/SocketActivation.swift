import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderSystem
import PostriderTransport

/// The sockets of systemd's socket units (docs/operate/sockets.md), each group by its `FileDescriptorName=`.
struct SocketActivation {
    private let sockets: InheritedSockets

    /// The listener of each name.
    private static let settings: [String: Setting] = [
        "provider": .providerAddress, "development-provider": .developmentProviderAddress,
        "device": .deviceAddress, "control": .controlAddress, "metrics": .metricsAddress,
        "console": .consoleAddress, "web": .webAddress,
    ]

    /// Takes over the sockets with which this process was started; nil if there are none.
    init?(_ environment: [String: String]) throws {
        let names = Supervisor.socketNames(in: environment)
        guard !names.isEmpty else { return nil }
        sockets = try InheritedSockets(names: names)
    }

    /// Has a relay use the sockets.
    ///
    /// - Throws: a sentence if a socket has another address than its setting, or an unknown name.
    func apply(
        to relay: inout RelayConfiguration, _ metrics: MetricsArguments?, _ texts: SettingTexts<Setting>
    ) throws {
        for name in sockets.names {
            let addresses = sockets.addresses(of: name)
            guard let setting = Self.settings[name] else {
                let known = Self.settings.keys.sorted().joined(separator: ", ")
                throw CommandFailure(
                    "A socket unit passes '\(name)', which is no listener of a relay: set "
                        + "FileDescriptorName= to one of \(known).", exitCode: 2)
            }
            let configured = configured(setting, relay, metrics)
            // Commands find the control socket by its setting, and the address of metrics and of the console says
            // whether they need protection.
            let mustAgree =
                [.controlAddress, .metricsAddress, .consoleAddress, .webAddress].contains(setting)
                || texts[setting] != nil
            guard !mustAgree || Set(configured) == Set(addresses) else {
                let (wanted, passed) = (Self.list(configured), Self.list(addresses))
                throw texts.mistake(
                    setting,
                    "is \(wanted.isEmpty ? "off" : wanted), but its socket unit passes \(passed): give both "
                        + "the same addresses")
            }
            switch setting {
            case .providerAddress: relay.providerAddresses = addresses
            case .developmentProviderAddress: relay.developmentProviderAddresses = addresses
            case .deviceAddress: relay.deviceAddresses = addresses
            case .webAddress: relay.web?.addresses = addresses
            default: break
            }
        }
        relay.sockets = sockets
    }

    private func configured(
        _ setting: Setting, _ relay: RelayConfiguration, _ metrics: MetricsArguments?
    ) -> [SocketAddress] {
        switch setting {
        case .providerAddress: relay.providerAddresses
        case .developmentProviderAddress: relay.developmentProviderAddresses
        case .deviceAddress: relay.deviceAddresses
        case .webAddress: relay.web?.addresses ?? []
        case .controlAddress: [relay.controlAddress]
        case .consoleAddress: relay.console.map { [$0.address] } ?? []
        default: metrics.map { [$0.address] } ?? []
        }
    }

    private static func list(_ addresses: [SocketAddress]) -> String {
        addresses.map(\.description).joined(separator: ", ")
    }
}
