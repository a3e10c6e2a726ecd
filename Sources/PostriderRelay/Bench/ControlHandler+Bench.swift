import PostriderCaptures
import PostriderNotifications
import PostriderRules

/// What tests ask of a relay with a test bench (docs/reference/captures.md, docs/reference/rules.md).
extension ControlHandler {
    /// `GET /v1/captures?topic=…&wait=5s&count=2`.
    func captures(_ query: Substring, _ respond: @escaping Respond) {
        guard let waiters = captureWaiters else { return respond(Self.withoutBench) }
        do throws(CaptureQuery.Mistake) {
            waiters.ask(try CaptureQuery(query), respond)
        } catch {
            respond(Self.refusal(400, error.sentence))
        }
    }

    /// Every other request about captures and rules.
    func handleBench(_ method: String, _ resource: String, _ body: [UInt8], _ respond: Respond) {
        guard let bench else { return respond(Self.withoutBench) }
        guard let answer = BenchAnswers(of: bench).answer(method, resource, body) else {
            preconditionFailure("bug: the bench has no \(method) \(resource)")
        }
        respond(ControlAnswer(answer.status, answer.body))
    }

    static let withoutBench = refusal(
        404, "This relay captures nothing and has no rules: use 'postrider dev', or set 'capture' to true.")
}

extension Control {
    /// An element of `GET /v1/rules`.
    public struct RuleCount: Codable, Sendable {
        /// The rule's number in its list, from 1 on.
        public var rule: Int
        /// Its name; nil if it has none.
        public var name: String?
        /// Pushes for which its conditions hold, before `nth`, `per` and `probability` are considered.
        public var considered: Int
        /// Pushes that it decided about.
        public var matched: Int

        init(_ count: RuleBook.Count) {
            rule = count.rule
            name = count.name
            considered = count.considered
            matched = count.matched
        }
    }
}
