import PostriderAgent
import PostriderClients
import PostriderCrypto
import PostriderNotifications
import PostriderPostgres
import PostriderRelay
import PostriderTLS
import PostriderTransport

extension Machine {
    /// What is wrong with the machine of a relay.
    ///
    /// - Parameters:
    ///   - names: the hosts to which the relay connects.
    ///   - isRunning: whether the relay runs, so that it is the one that uses its ports.
    func findings(
        ofRelay relay: RelayConfiguration, store: StorePlace, names: [String], isRunning: Bool
    ) async -> [Finding] {
        let addresses =
            relay.providerAddresses + relay.developmentProviderAddresses + relay.deviceAddresses
        var findings = look(at: .relay(shards: relay.shards, addresses: addresses.count))
        findings += lookAtClock()
        findings += look(atStore: store.dataDirectory) + look(atDatabaseOf: store)
        for address in addresses where !isRunning {
            do throws(TransportError) {
                try Listener.requireFree(address)
            } catch {
                findings.append(
                    .failure(
                        "\(address)", "\(error)".withoutStop,
                        "'ss -ltnp' shows who listens; an address must be one of this machine"))
            }
        }
        findings += look(atCertificate: relay)
        for name in names { findings += await look(atName: name) }
        return Finding.sorted(findings + lookAtKernel())
    }

    /// Connects to the database of the store, as the relay will do.
    private func look(atDatabaseOf store: StorePlace) -> [Finding] {
        guard let database = store.database else { return [] }
        do throws(StoreError) {
            try PostgresStore.probe(database, acceptsLosses: store.acceptsLosses)
            return []
        } catch {
            return [
                .failure(
                    "\(database)", "\(error)".withoutStop,
                    "Try the same address, as the same user, with psql")
            ]
        }
    }

    private func look(atCertificate relay: RelayConfiguration) -> [Finding] {
        let chain = relay.certificateChainFile
        do throws(CryptoError) {
            let context = try relay.loadCertificate()
            guard !isBeforeThisProgram else { return [] }
            if let mistake = context.mistakeInCertificate(at: now) {
                return [.failure(chain, "it \(mistake)", "Replace it and its key, or set the clock")]
            }
            guard let expiry = context.certificateExpiry, expiry - now < 14 * 86_400 else { return [] }
            return [
                .warning(
                    chain, "it expires in \((expiry - now) / 86_400) days",
                    "Replace it and its key, and reload the relay")
            ]
        } catch {
            return [
                .failure(
                    chain, "\(error)".withoutStop, "Run 'postrider check', which says more of such files")
            ]
        }
    }

    /// What is wrong with the machine of a device.
    func findings(ofAgent agent: AgentConfiguration) async -> [Finding] {
        var findings = look(at: .agent) + lookAtClock() + look(atStore: agent.stateDirectory)
        let tls: TLSContext
        do throws(CryptoError) {
            tls = try TLSContext.client(trustFile: agent.trustFile, alpn: ["h2"])
        } catch {
            findings.append(
                .failure(
                    agent.trustFile ?? "the system's authorities", "\(error)".withoutStop, "Name another file"
                ))
            return Finding.sorted(findings)
        }
        for relay in agent.relays { findings += await look(at: relay, of: agent, tls) }
        return Finding.sorted(findings)
    }

    private func look(
        at relay: Destination, of agent: AgentConfiguration, _ tls: TLSContext
    ) async -> [Finding] {
        // Behind a proxy, the proxy resolves the name.
        if agent.proxy == nil, let host = relay.host {
            let unknown = await look(atName: host)
            guard unknown.isEmpty else { return unknown }
        }
        let server = Server(relay, tls: tls, name: agent.serverName, through: agent.proxy)
        guard let mistake = await mistake(ofServer: server) else { return [] }
        return [
            .failure(
                "\(relay)", "the relay cannot be used: \(mistake)".withoutStop,
                "Check address and firewall, 'ca' and 'server-name', and that the relay runs")
        ]
    }

    private func look(atName name: String) async -> [Finding] {
        guard let mistake = await mistake(inName: name) else { return [] }
        return [
            .failure(name, mistake.withoutStop, "Correct the name, or /etc/resolv.conf and the network")
        ]
    }
}
