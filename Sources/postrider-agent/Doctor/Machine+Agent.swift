import PostriderAgent
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderTLS
import PostriderTransport

extension Machine {
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
}
