import PostriderHTTP2

/// One request and its response.
final class RequestExchange {
    let head: HeaderBlock
    /// The deadline in nanoseconds of the loop's clock.
    let deadline: UInt64
    private var requestBody: [UInt8]
    private var completion: RequestClient.Completion?

    /// The header block of the response; nil until it has arrived.
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

    /// Whether the completion has not been called yet.
    var isOpen: Bool { completion != nil }

    /// Returns the request's body and forgets it, because only the HTTP/2 connection needs it from now on.
    func takeBody() -> [UInt8] {
        defer { requestBody = [] }
        return requestBody
    }

    /// Completes the exchange, because the response has ended.
    func finishAnswered() {
        // The HTTP/2 connection has checked that the status exists and is a number (RFC 9113, section 8.1.1).
        guard let answer, let status = answer.text(of: ":status").flatMap({ Int($0) }) else {
            preconditionFailure("a complete response has a status")
        }
        finish(
            .success(RequestClient.Response(status: status, head: answer, body: body, trailers: trailers)))
    }

    /// Calls the completion unless it was called before.
    func finish(_ result: Result<RequestClient.Response, ClientError>) {
        let completion = self.completion
        self.completion = nil
        completion?(result)
    }
}

/// The queue of requests.
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

    /// Puts the request back that was popped last.
    mutating func putBack(_ exchange: RequestExchange) { exchanges.insert(exchange, at: start) }

    /// Removes and returns the requests that fulfil a condition.
    mutating func removeAll(where isTaken: (RequestExchange) -> Bool) -> [RequestExchange] {
        let all = exchanges[start...].compactMap { $0 }
        exchanges = all.filter { !isTaken($0) }
        start = 0
        return all.filter(isTaken)
    }

    var earliestDeadline: UInt64? { exchanges[start...].compactMap { $0?.deadline }.min() }
}
