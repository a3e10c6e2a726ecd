import PostriderNotifications

/// The answers to requests about captures and rules, on the control socket and on the HTTP/1.1 port of
/// `postrider dev`.
public struct BenchAnswers: Sendable {
    /// A status and a JSON body.
    public typealias Answer = (status: Int, body: [UInt8])

    private let bench: TestBench

    /// Creates the answers of a test bench.
    public init(of bench: TestBench) { self.bench = bench }

    /// Answers a request that does not wait for captures; nil if there is no such request.
    ///
    /// - Parameter resource: the path behind `/v1/`: `captures` or `rules`.
    public func answer(_ method: String, _ resource: String, _ body: [UInt8]) -> Answer? {
        switch (method, resource) {
        case ("DELETE", "captures"):
            bench.removeCaptures()
            return (200, Array("{}".utf8))
        case ("GET", "rules"): return listedRules
        case ("PUT", "rules"): return replaceRules(with: body)
        default: return nil
        }
    }

    /// An answer with a sentence that says what was wrong, and what to do.
    public static func refusal(_ status: Int, _ sentence: String) -> Answer {
        told(ControlHandler.refusal(status, sentence))
    }

    private var listedRules: Answer {
        Self.told(ControlHandler.answer(bench.ruleCounts.map(Control.RuleCount.init)))
    }

    private static func told(_ answer: ControlAnswer) -> Answer { (answer.status, answer.body) }

    /// Replaces the rules by others, which are YAML or JSON.
    private func replaceRules(with body: [UInt8]) -> Answer {
        guard let text = String(validating: body, as: UTF8.self) else {
            return Self.refusal(400, "The rules are not UTF-8: write them so.")
        }
        do throws(TestBench.RuleMistake) {
            try bench.replaceRules(text)
            return listedRules
        } catch {
            return Self.refusal(400, error.sentence)
        }
    }
}
