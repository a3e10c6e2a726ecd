import DatabaseFixtures
import PostriderCluster
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The stores of a node")
struct NodeStoresTests {
    /// What the settings of a node make of a folder and a database.
    private func configuration(
        of folder: DevFolder, _ database: String
    ) throws -> RelayConfiguration.Cluster {
        let nodes = CertificateFolder(folder.path + "/nodes")
        #expect(try nodes.makeAuthority(validDays: 2))
        let name = CertificateFolder.Name.node("a")
        try nodes.makeNode(try #require(NodeName("a")), validDays: 2)
        let values: [(Setting, String)] = [
            (.certificate, folder.certificateFile), (.privateKey, folder.privateKeyFile),
            (.dataDirectory, folder.path + "/data"), (.store, database), (.acceptLosses, "true"),
            (.nodeName, "a"), (.clusterAddress, "127.0.0.1:2195"),
            (.clusterCertificate, nodes.certificate(name)), (.clusterKey, nodes.key(name)),
            (.clusterTrust, nodes.certificate(.authority)),
        ]
        let options = try ServeCommand.table.parse(values.flatMap { ["--\($0.0.rawValue)", $0.1] })
        let settings = try Settings(options: options, environment: [:]) { _ in nil }
        return try #require(try settings.forRelay().relay.cluster)
    }

    @Test("are its membership, which has the data directory, and a ledger's store for the claim of that")
    func opening() throws {
        let folder = DevFolder.fresh()
        defer { folder.remove() }
        let node = try configuration(of: folder, DatabaseServer.shared.get().makeDatabase())
        _ = (try node.loadServer(), try node.loadClient())
        let member = try node.openMembership(.none)
        #expect(try member.join(replacing: nil))
        #expect(try member.look().nodes.values.map(\.address) == ["127.0.0.1:2195"])
        let busy = #expect(throws: StoreError.self) { _ = try node.openMembership(.none) }
        #expect(busy?.kind == .busy)
        let ledger = try node.openStore(member.claim, .none)
        var secrets: [[UInt8]] = []
        ledger.addFirstTokenSecret([7]) { secrets = (try? $0.get()) ?? [] }
        #expect(secrets == [[7]])
        // A membership that is over has no store any more.
        let over = member.claim
        try member.leave()
        let fenced = #expect(throws: StoreError.self) { _ = try node.openStore(over, .none) }
        #expect(fenced?.kind == .fenced)
    }
}
