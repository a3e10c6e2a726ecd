import PostriderCommands
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
            + (relay.cluster.map { [$0.address] } ?? [])
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
}
