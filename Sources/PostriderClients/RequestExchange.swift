import PostriderHTTP2

/// One request on its way to its answer.
final class RequestExchange {
    let head: HeaderBlock
    /// On the loop's clock.
    let deadline: UInt64
    private var requestBody: [UInt8]
    private var completion: RequestClient.Completion?

    /// What has come of the answer so far.
    var answer: HeaderBlock?
    var body: [UInt8] = []
    var trailers: HeaderBlock?

    init(
        _ head: HeaderBlock, _ body: [UInt8], deadline: UInt64,
        _ completion: @escaping RequestClient.Completion
    ) {
        self.head = head
        self.deadline = deadline
        requestBody = body
        self.completion = completion
    }

    /// Whether the completion is still to be called.
    var isOpen: Bool { completion != nil }

    /// The request's body, which only the session needs from now on.
    func takeBody() -> [UInt8] {
        defer { requestBody = [] }
        return requestBody
    }

    /// The server has said everything.
    func finishAnswered() {
        // The session has checked the head (RFC 9113, 8.1.1): it has a status, and that is a number.
        guard let answer, let status = answer.text(of: ":status").flatMap({ Int($0) }) else {
            preconditionFailure("a complete response has a status")
        }
        finish(
            .success(RequestClient.Response(status: status, head: answer, body: body, trailers: trailers)))
    }

    /// Calls the completion if it was not called before.
    func finish(_ result: Result<RequestClient.Response, ClientError>) {
        let completion = self.completion
        self.completion = nil
        completion?(result)
    }
}

/// Requests that wait, in order.
struct RequestQueue {
    private var exchanges: [RequestExchange?] = []
    private var start = 0

    var count: Int { exchanges.count - start }

    mutating func append(_ exchange: RequestExchange) { exchanges.append(exchange) }

    mutating func popFirst() -> RequestExchange? {
        guard start < exchanges.count else { return nil }
        let first = exchanges[start]
        exchanges[start] = nil
        start += 1
        if start > exchanges.count / 2 {
            exchanges.removeFirst(start)
            start = 0
        }
        return first
    }

    /// Takes back what was popped last.
    mutating func putBack(_ exchange: RequestExchange) { exchanges.insert(exchange, at: start) }

    /// Takes out those that a condition holds for.
    mutating func removeAll(where isTaken: (RequestExchange) -> Bool) -> [RequestExchange] {
        let all = exchanges[start...].compactMap { $0 }
        exchanges = all.filter { !isTaken($0) }
        start = 0
        return all.filter(isTaken)
    }

    var earliestDeadline: UInt64? { exchanges[start...].compactMap { $0?.deadline }.min() }
}
