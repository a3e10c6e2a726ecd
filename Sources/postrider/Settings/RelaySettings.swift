import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderSystem
import PostriderTransport

extension Settings {
    /// Everything that `postrider serve` needs to know.
    struct RelayArguments {
        let relay: RelayConfiguration
        let store: StorePlace
        let metrics: MetricsArguments?
        /// Where captures and rules are served over HTTP/1.1; nil for nowhere.
        let captures: SocketAddress?
        let callbacks: CallbackArguments?
        let spans: SpanArguments?
        let logLevel: Log.Level
        let logFormat: LogFormat
    }

    /// The arguments of the relay. It throws at the first mistake.
    func forRelay() throws -> RelayArguments {
        let providers = try internetAddresses(.providerAddress) ?? [SocketAddress("0.0.0.0:2197")]
        let devices = try internetAddresses(.deviceAddress) ?? [SocketAddress("0.0.0.0:5223")]
        let development = try internetAddresses(.developmentProviderAddress) ?? []
        let web = try web()
        let certificate = try texts.required(.certificate)
        let privateKey = try texts.required(.privateKey)
        let store = try storePlace()
        let cluster = try cluster(store)
        try requireDistinct([
            (.providerAddress, providers), (.developmentProviderAddress, development),
            (.deviceAddress, devices), (.webAddress, web?.addresses ?? []),
            (.clusterAddress, cluster.map { [$0.address] } ?? []),
        ])
        var relay = RelayConfiguration(
            providerAddresses: providers,
            deviceAddresses: devices,
            controlAddress: try controlAddress(),
            certificateChainFile: certificate,
            privateKeyFile: privateKey,
            shards: Self.usualShards,
            user: geteuid()
        )
        relay.providerTrustFile = texts[.providerTrust]
        relay.developmentProviderAddresses = development
        relay.privateKeyReaders = try groups(.privateKeyGroup)
        let idle = Limits.providerIdleSeconds
        relay.providerIdleSeconds =
            try texts.number(.providerIdleSeconds, in: idle.least...idle.most) ?? idle.usual
        relay.onPresence = try operatorProgram(.onPresence, control: relay.controlAddress)
        relay.deviceExpiryDays = try texts.number(.deviceExpiryDays, in: 1...36_500)
        relay.quotas = try quotas()
        relay.lookupKeys = try texts.list(.lookupKeys, form: Self.keysForm, Self.keys) ?? []
        relay.lookupAllKeys = try texts.list(.lookupAllKeys, form: Self.keysForm, Self.keys) ?? []
        relay.loadBalancers =
            try texts.value(.loadBalancers, form: NetworkList.form) { try? NetworkList($0) } ?? NetworkList()
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
        relay.console = try console()
        relay.web = web
        relay.cluster = cluster
        relay.bench = try capturing(providers + development + devices)
        let logLevel = try texts.choice(.logLevel, of: LogLevel.self)
        let metrics = try metrics(
            certificate: certificate, privateKey: privateKey, readers: relay.privateKeyReaders)
        return RelayArguments(
            relay: relay, store: store, metrics: metrics, captures: try capturesAddress(),
            callbacks: try callbacks(), spans: try SpanArguments(texts), logLevel: logLevel?.level ?? .info,
            logFormat: try texts.choice(.logFormat, of: LogFormat.self) ?? .text)
    }

    /// The web port; nil if it is off.
    private func web() throws -> RelayConfiguration.Web? {
        let form = "https://, a host, and perhaps a port, such as https://push.example.org"
        let origin = try texts.value(.publicURL, form: form) { RelayConfiguration.Web.origin($0) }
        guard let addresses = try internetAddresses(.webAddress) else { return nil }
        guard let origin else {
            throw texts.mistake(
                .webAddress,
                "needs public-url, the URL under which senders reach it, such as "
                    + "https://push.example.org")
        }
        return RelayConfiguration.Web(addresses: addresses, origin: origin)
    }

    /// The console; nil if it is off.
    private func console() throws -> RelayConfiguration.Console? {
        let showsPayloads = try texts.boolean(.consolePayloads) ?? false
        guard let text = texts[.consoleAddress], text != "off" else { return nil }
        let form = "off, or an address with a port, such as \(RelayConfiguration.Console.usualAddress)"
        let address = try texts.value(.consoleAddress, form: form) { text in
            (try? SocketAddress(text)).flatMap { $0.port == nil ? nil : $0 }
        }
        return address.map { .init(address: $0, showsPayloads: showsPayloads) }
    }

    /// The default number of shards: the number of cores that this process may use.
    static var usualShards: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 256) }

    /// The address of the control socket.
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

    /// Refuses settings that listen twice on one address.
    private func requireDistinct(_ lists: [(setting: Setting, addresses: [SocketAddress])]) throws {
        var taken: [(setting: Setting, address: SocketAddress)] = []
        for (setting, addresses) in lists {
            for address in addresses where address.port != 0 {
                if let other = taken.first(where: { $0.address == address }) {
                    throw texts.mistake(
                        setting, "is \(address) like \(other.setting.rawValue); choose another port")
                }
                taken.append((setting, address))
            }
        }
    }

    private func internetAddresses(_ setting: Setting) throws -> [SocketAddress]? {
        try texts.value(setting, form: ListenAddresses.form) { try? ListenAddresses.read($0) }
    }

    /// The form of a list of keys, for sentences.
    static let keysForm = "identifiers of providers' keys, with commas between"

    /// The identifiers of providers' keys; nil if one cannot be an identifier.
    static func keys(_ words: [String]) -> Set<String>? {
        words.allSatisfy(Control.isName) ? Set(words) : nil
    }

    /// The numbers of groups that are given by name or number, separated by commas.
    private func groups(_ setting: Setting) throws -> Set<UInt32> {
        let form = "groups of this machine, by name or number, with commas between"
        let groups = try texts.list(setting, form: form) { names in
            let numbers = names.compactMap(UserAccount.group(of:))
            return numbers.count == names.count ? Set(numbers) : nil
        }
        return groups ?? []
    }
}
