import FoundationEssentials
import PostriderCluster
import PostriderNotifications

/// What all nodes of a cluster have answered to one question.
struct NodeAnswers {
    /// What one node has answered.
    struct Answer {
        let node: NodeName
        let answer: ControlAnswer
    }

    /// The answers, by the nodes' names.
    private(set) var answers: [Answer] = []
    /// The nodes that have not answered in time, or cannot be reached.
    private(set) var missing: [NodeName] = []

    mutating func add(_ answer: ControlAnswer, of node: NodeName) {
        answers.append(Answer(node: node, answer: answer))
        answers.sort { $0.node < $1.node }
    }

    mutating func miss(_ node: NodeName) {
        missing.append(node)
    }

    /// The answers as values. A node that has refused, or whose answer is none, is missing among them.
    func read<Value: Decodable>(as type: Value.Type) -> NodeValues<Value> {
        var (values, missing): ([(node: NodeName, value: Value)], [NodeName]) = ([], missing)
        for answer in answers {
            if answer.answer.status == 200, let value = try? answer.answer.decoded(type) {
                values.append((answer.node, value))
            } else {
                missing.append(answer.node)
            }
        }
        return NodeValues(named: values, missing: missing.sorted())
    }

    /// The first refusal, if no node has answered anything else.
    var refusal: ControlAnswer? {
        answers.contains { $0.answer.status == 200 } ? nil : answers.first?.answer
    }
}

/// What the nodes of a cluster know: the answers to one question, as values.
struct NodeValues<Value> {
    /// The values, by the nodes' names.
    let named: [(node: NodeName, value: Value)]
    /// The nodes without a value, by name.
    let missing: [NodeName]

    /// The values without the nodes' names.
    var all: [Value] { named.map(\.value) }

    /// The same values, where these nodes are missing too: they have not answered another question about the same.
    func missing(_ others: [NodeName]) -> NodeValues {
        NodeValues(named: named, missing: Set(missing + others).sorted())
    }

    /// One sentence about the nodes that have not answered; nil if all have.
    var gap: String? {
        guard let last = missing.last else { return nil }
        guard missing.count > 1 else {
            return "Node \(last) has not answered: what only it knows is missing."
        }
        let others = missing.dropLast().map(\.text).joined(separator: ", ")
        return "Nodes \(others) and \(last) have not answered: what only they know is missing."
    }
}

extension ControlAnswer {
    /// The body as a value.
    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(body))
    }
}
