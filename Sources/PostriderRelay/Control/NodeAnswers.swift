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
    /// The nodes that have not answered in time, or cannot be reached, by name.
    private(set) var missing: [NodeName] = []

    mutating func add(_ answer: ControlAnswer, of node: NodeName) {
        answers.append(Answer(node: node, answer: answer))
        answers.sort { $0.node < $1.node }
    }

    mutating func miss(_ node: NodeName) {
        missing.append(node)
        missing.sort()
    }

    /// The answers as values. A node that has refused, or whose answer is none, is missing from then on.
    mutating func values<Value: Decodable>(_ type: Value.Type) -> [(node: NodeName, value: Value)] {
        var values: [(node: NodeName, value: Value)] = []
        for answer in answers {
            if answer.answer.status == 200,
                let value = try? JSONDecoder().decode(type, from: Data(answer.answer.body))
            {
                values.append((answer.node, value))
            } else {
                miss(answer.node)
            }
        }
        answers.removeAll { missing.contains($0.node) }
        return values
    }

    /// The first refusal, if no node has answered anything else.
    var refusal: ControlAnswer? {
        answers.contains { $0.answer.status == 200 } ? nil : answers.first?.answer
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
