import PostriderCluster
import PostriderNotifications

/// The status of the relay, and what this node answers when another node of its cluster asks.
extension ControlHandler {
    /// `GET /v1/status`: of all nodes, or with `?local` of this one alone.
    func status(_ query: Substring, _ respond: @escaping Respond) {
        guard queries.nodes.cluster != nil, query != "local" else { return ownStatus(respond) }
        queries.nodes.askAll(.status) { answers in
            let parts = answers.read(as: Control.Status.self)
            let status = Control.Status(
                ofNodes: parts.named.map { ($0.node.text, $0.value) }, missing: parts.missing.map(\.text))
            respond(Self.answer(status, gap: parts.gap))
        }
    }

    private func ownStatus(_ respond: @escaping Respond) {
        queries.ask(.tally) { [context] replies in
            var reports: [ShardReport] = []
            for case .tally(let report) in replies { reports.append(report) }
            respond(Self.answer(Control.Status(reports, trace: context.trace.missing)))
        }
    }

    /// Answers a question for this node alone.
    func answerAlone(_ question: NodeQuestion, _ respond: @escaping Respond) {
        switch question {
        case .status: ownStatus(respond)
        case .labels, .devices, .change, .remove, .lookUp, .successors, .heir, .inherit:
            devices.answerAlone(question, respond)
        case .trace(let query): ownTrace(query[...], respond)
        case .progress(let inquiry):
            queries.nodes.findOwnProgress(inquiry) { respond(Self.answer($0)) }
        case .channels(let query): ChannelRoutes(queries: queries).listHere(query[...], respond)
        case .traceEvents(let rows): ownTrace(.events(of: rows), respond)
        case .history:
            respond(
                history.map { Self.answer($0.answer) } ?? Self.refusal(404, "This node keeps no history."))
        case .readAccess: access.readAgain(respond)
        case .deviceEvents(let cursor): respond(Self.answer(events.read(after: cursor)))
        case .subscribers(let channels):
            ChannelRoutes(queries: queries).countHere(channels) { respond(Self.answer($0)) }
        }
    }

    static func answer(_ value: some Encodable, gap: String?) -> Answer {
        var answer = answer(value)
        answer.gap = gap
        return answer
    }
}
