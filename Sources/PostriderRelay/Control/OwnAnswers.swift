import PostriderNotifications
import PostriderTransport

/// What this node answers to other nodes, on shard 0. A long answer goes in pieces, each when the asker wants it.
final class OwnAnswers {
    private struct Rest {
        let answer: ControlAnswer
        var sent: Int
        let since: UInt64
    }

    private let context: ShardContext
    /// Answers a question for this node alone; nil until the operator's interface is there.
    var source: ((NodeQuestion, @escaping (ControlAnswer) -> Void) -> Void)?
    private var rests: [ReplyAddress: Rest] = [:]

    init(_ context: ShardContext) { self.context = context }

    /// Answers a question of this node.
    func find(_ question: NodeQuestion, then: @escaping (ControlAnswer) -> Void) {
        guard let source else { return then(ControlHandler.refusal(503, "This node is about to start.")) }
        source(question, then)
    }

    /// Answers a question of another node; nil is one that this version does not know.
    func answer(_ question: NodeQuestion?, _ address: ReplyAddress) {
        guard let question, source != nil else { return send(.none, address) }
        find(question) { [weak self] answer in self?.begin(ControlSession.fitting(answer), address) }
    }

    private func begin(_ answer: ControlAnswer, _ address: ReplyAddress) {
        let rest = Rest(answer: answer, sent: 0, since: context.scheduler.now)
        guard answer.body.count > Limits.nodeAnswerPieceBytes else { return send(rest, address) }
        forgetOverdue()
        let kept = rests.values.reduce(0) { $0 + $1.answer.body.count }
        guard kept + answer.body.count <= Limits.keptAnswerBytes else { return send(.none, address) }
        send(rest, address)
    }

    /// The asker wants the next piece.
    func goOn(_ address: ReplyAddress) {
        guard let rest = rests.removeValue(forKey: address) else { return send(.none, address) }
        send(rest, address)
    }

    /// Nobody wants anything over a link any more.
    func linkEnded(_ link: Int) {
        for address in rests.keys where ShardPlace(Int(address.shard)).link == link { rests[address] = nil }
    }

    /// Forgets what nobody has wanted for as long as an asker waits.
    private func forgetOverdue() {
        let longest = UInt64(Limits.wholeAnswerMilliseconds) * 2_000_000
        for (address, rest) in rests where context.scheduler.now - rest.since > longest {
            rests[address] = nil
        }
    }

    private func send(_ rest: Rest, _ address: ReplyAddress) {
        let (answer, end) = (rest.answer, rest.sent + Limits.nodeAnswerPieceBytes)
        let isLast = end >= answer.body.count
        let bytes = answer.body[rest.sent..<min(end, answer.body.count)]
        if !isLast { rests[address] = Rest(answer: answer, sent: end, since: rest.since) }
        send(NodeAnswerPiece(status: answer.status, bytes: Array(bytes), isLast: isLast), address)
    }

    private func send(_ piece: NodeAnswerPiece, _ address: ReplyAddress) {
        context.outbox.send(.nodeQuery(.answer(piece, address)), to: Int(address.shard))
    }
}
