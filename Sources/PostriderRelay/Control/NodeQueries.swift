import PostriderCluster
import PostriderNotifications
import PostriderTransport

/// Asks the other nodes of the cluster what an operator or a provider wants to know of all, on shard 0.
///
/// A node answers for itself alone and asks nobody. One that is not linked, or is silent for too long, is named in the
/// answer as missing; nobody waits for it any longer.
final class NodeQueries {
    /// The cluster of a node, as far as questions need it.
    struct Cluster {
        /// The node's own name.
        let name: NodeName
        /// The other nodes, and the links to those that are linked.
        let others: () -> [NodeName: Int?]
    }

    /// What one other node has been asked.
    private struct Part {
        let node: NodeName
        let link: Int
        let query: UInt64
        var status = 0
        var bytes: [UInt8] = []
        /// When the node is missing unless it says something, and when in any case, in monotonic nanoseconds.
        var silentAt: UInt64
        let endsAt: UInt64
    }

    private struct Query {
        var open: Int
        var answers = NodeAnswers()
        /// Whether an answer makes those of other nodes needless.
        let isEnough: (ControlAnswer) -> Bool
        let then: (NodeAnswers) -> Void
    }

    let context: ShardContext
    /// Nil without a cluster.
    var cluster: Cluster?
    /// The answers of this node.
    let own: OwnAnswers
    private var parts: [UInt64: Part] = [:]
    private var queries: [UInt64: Query] = [:]
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in endOverdue() }

    private static let tickMilliseconds = 100

    init(_ context: ShardContext) {
        self.context = context
        own = OwnAnswers(context)
    }

    /// Asks this node and every other one, and calls `then` when all have answered or are missing.
    ///
    /// - Parameters:
    ///   - seconds: how long a node may wait for what it is asked about.
    ///   - isEnough: whether an answer makes those of other nodes needless.
    func askAll(
        _ question: NodeQuestion, waiting seconds: Int = 0,
        until isEnough: @escaping (ControlAnswer) -> Bool = { _ in false },
        then: @escaping (NodeAnswers) -> Void
    ) {
        guard let cluster else { preconditionFailure("only a node of a cluster asks others") }
        let others = cluster.others()
        let query = Query(open: others.count + 1, isEnough: isEnough, then: then)
        ask(question, seconds, others, hasOwn: cluster.name, query)
    }

    /// Asks every node but this one, and calls `then` when all have answered or are missing.
    func askOthers(_ question: NodeQuestion, then: @escaping (NodeAnswers) -> Void) {
        let others = cluster?.others() ?? [:]
        guard !others.isEmpty else { return then(NodeAnswers()) }
        ask(question, 0, others, hasOwn: nil, Query(open: others.count, isEnough: { _ in false }, then: then))
    }

    /// Asks one node, which may be this one. `then` gets nil if it is missing.
    func ask(_ node: NodeName, _ question: NodeQuestion, then: @escaping (ControlAnswer?) -> Void) {
        guard let cluster else { preconditionFailure("only a node of a cluster asks others") }
        guard node != cluster.name else { return own.find(question, then: then) }
        let link = cluster.others()[node] ?? nil
        let query = Query(open: 1, isEnough: { _ in false }, then: { then($0.answers.first?.answer) })
        ask(question, 0, [node: link], hasOwn: nil, query)
    }

    private func ask(
        _ question: NodeQuestion, _ seconds: Int, _ others: [NodeName: Int?], hasOwn own: NodeName?,
        _ asked: Query
    ) {
        let query = context.drawNumber()
        queries[query] = asked
        let now = context.scheduler.now
        let silence = UInt64(Limits.nodeAnswerMilliseconds + 1_000 * seconds)
        for (node, link) in others.sorted(by: { $0.key < $1.key }) {
            guard let link, parts.count < Limits.nodeQuestions else {
                end(query) { $0.miss(node) }
                continue
            }
            let number = context.drawNumber()
            parts[number] = Part(
                node: node, link: link, query: query, silentAt: now + silence * 1_000_000,
                endsAt: now + (silence + UInt64(Limits.wholeAnswerMilliseconds)) * 1_000_000)
            context.outbox.send(
                .nodeQuery(.ask(question, address(number))), to: ShardPlace(link: link).number)
        }
        if !parts.isEmpty, !timer.isArmed { timer.arm(afterMilliseconds: Self.tickMilliseconds) }
        guard let own else { return }
        self.own.find(question) { [weak self] in self?.add($0, of: own, to: query) }
    }

    private func address(_ number: UInt64) -> ReplyAddress {
        ReplyAddress(shard: Int32(context.index), stream: 0, connection: number)
    }

    // MARK: Answers

    /// Takes a message about a question: of this node to another one, or the other way round.
    func take(_ message: NodeQuery) {
        switch message {
        case .ask(let question, let address): own.answer(question, address)
        case .goOn(let address): own.goOn(address)
        case .answer(let piece, let address): take(piece, address)
        case .unsent(let address):
            guard let part = part(address) else { return }
            lose(address.connection, part)
        }
    }

    /// A link has ended: nothing more comes over it, and nobody wants anything over it.
    func linkEnded(_ link: Int) {
        own.linkEnded(link)
        for (number, part) in parts.sorted(by: { $0.key < $1.key }) where part.link == link {
            lose(number, part)
        }
    }

    /// The part that a message is about; nil if it comes too late, or over another link than the question went.
    private func part(_ address: ReplyAddress) -> Part? {
        guard let part = parts[address.connection], ShardPlace(Int(address.shard)).link == part.link else {
            return nil
        }
        return part
    }

    private func take(_ piece: NodeAnswerPiece, _ address: ReplyAddress) {
        let number = address.connection
        guard var part = part(address) else { return }
        // The array of bytes has one owner then, and is not copied.
        parts[number] = nil
        part.status = piece.status
        part.bytes += piece.bytes
        guard part.bytes.count <= Limits.controlAnswerBytes else { return lose(number, part) }
        guard piece.isLast else {
            part.silentAt = context.scheduler.now + UInt64(Limits.nodeAnswerMilliseconds) * 1_000_000
            parts[number] = part
            return context.outbox.send(
                .nodeQuery(.goOn(self.address(number))), to: ShardPlace(link: part.link).number)
        }
        // Only a node that cannot answer says nothing at all.
        guard part.status != 503 || !part.bytes.isEmpty else { return lose(number, part) }
        add(ControlAnswer(part.status, part.bytes), of: part.node, to: part.query)
    }

    private func lose(_ number: UInt64, _ part: Part) {
        parts[number] = nil
        end(part.query) { $0.miss(part.node) }
    }

    private func add(_ answer: ControlAnswer, of node: NodeName, to number: UInt64) {
        if let query = queries[number], query.isEnough(answer) {
            queries[number]?.open = 1
            parts = parts.filter { $0.value.query != number }
        }
        end(number) { $0.add(answer, of: node) }
    }

    /// One node has answered, or is missing.
    private func end(_ number: UInt64, _ change: (inout NodeAnswers) -> Void) {
        guard var query = queries.removeValue(forKey: number) else { return }
        change(&query.answers)
        query.open -= 1
        guard query.open == 0 else { return queries[number] = query }
        query.then(query.answers)
    }

    private func endOverdue() {
        let now = context.scheduler.now
        for (number, part) in parts.sorted(by: { $0.key < $1.key })
        where part.silentAt <= now || part.endsAt <= now {
            lose(number, part)
        }
        if !parts.isEmpty { timer.arm(afterMilliseconds: Self.tickMilliseconds) }
    }
}
