import Synchronization

/// What the answers of a server have lacked, as it has said itself: a node of a cluster may not have answered.
package final class AnswerGaps: Sendable {
    private let sentences = Mutex<[String]>([])

    /// The exit code of a command whose answer has a gap.
    package static let exitCode: Int32 = 4

    package init() {}

    /// Whether nothing was missing so far.
    package var areNone: Bool { sentences.withLock { $0.isEmpty } }

    /// The exit code of a command that has succeeded otherwise.
    package var exitCode: Int32 { areNone ? 0 : Self.exitCode }

    /// Prints a sentence about what is missing, once.
    func note(_ sentence: String) {
        let isNew = sentences.withLock { sentences in
            guard !sentences.contains(sentence) else { return false }
            sentences.append(sentence)
            return true
        }
        if isNew { Console.complain("postrider: \(sentence)") }
    }
}
