import Foundation
import PostriderCluster
import PostriderConsole
import PostriderCrypto
import PostriderEvidence
import PostriderNotifications

@testable import PostriderRelay

/// The operator's interface of a node of a ``NodesFixture``.
final class NodeOperator {
    private let node: FixtureNode
    private let handler: ControlHandler
    /// What the console plots. It begins when a test starts it.
    let history: StatusHistory
    /// The key with which the node signs evidence.
    let key = ES256.PrivateKey.generate()
    /// The answers, in their order.
    private(set) var answers: [ControlAnswer] = []

    init(_ node: FixtureNode) {
        self.node = node
        let shard = node.shards[0]
        shard.queries.nodes.cluster = NodeQueries.Cluster(
            name: node.name,
            others: { [unowned node] in
                var report = NodeReports.Report()
                if let view = node.work.view { report.note(view, at: 0) }
                report.links = node.work.links
                return report.others(than: node.name)
            })
        let signer = EvidenceSigner(name: node.name.text)
        signer.use(.success(key))
        history = StatusHistory(shard.context, shard.queries)
        handler = ControlHandler(
            Registry(), shard.context, shard.changes, shard.queries, nil, nil, shard.directory,
            signer: signer,
            console: ConsoleRoutes(ConsoleSessions()), history: history)
    }

    /// Makes a request, and lets everything happen that is under way. Returns the answer if there is one by then.
    @discardableResult
    func ask(_ method: String, _ path: String, _ body: String = "") -> ControlAnswer? {
        let before = answers.count
        handler.handle(method, path, body: Array(body.utf8)) { [unowned self] in answers.append($0) }
        node.fixture.settle()
        return answers.count > before ? answers.last : nil
    }

    /// Asks this node alone, as another node does.
    func askAlone(_ question: NodeQuestion) -> ControlAnswer? {
        var told: ControlAnswer?
        handler.answerAlone(question) { told = $0 }
        node.fixture.settle()
        return told
    }
}

extension ControlAnswer {
    /// The sentence of a refusal.
    var sentence: String { (try? decoded(Control.Refusal.self).sentence) ?? "" }
}
