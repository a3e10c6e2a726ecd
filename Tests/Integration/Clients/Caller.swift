import PostriderClients
import PostriderTransport

/// A client that records how often each of its requests was completed, and with which result.
final class Caller {
    typealias Outcome = Result<String, ClientError>

    let client: RequestClient
    var outcomes: [Int: [Outcome]] = [:]
    private var count = 0

    init(_ place: Server, _ loop: EventLoop, _ bounds: RequestClient.Bounds = .init()) {
        client = RequestClient(to: place, on: loop, bounds: bounds)
    }

    func send(_ path: String = "/", body: String = "", timeoutMilliseconds: Int = 20_000) throws {
        let number = count
        count += 1
        let head = client.makeHead("POST", path)
        try client.send(head, body: Array(body.utf8), timeoutMilliseconds: timeoutMilliseconds) {
            self.outcomes[number, default: []].append(
                $0.map { "\($0.status) \(String(decoding: $0.body, as: UTF8.self))" })
        }
    }

    /// The outcomes in the order of the requests; nil unless each was completed exactly once.
    var all: [Outcome]? {
        let lists = (0..<count).compactMap { outcomes[$0] }
        return lists.count == count && lists.allSatisfy { $0.count == 1 } ? lists.map { $0[0] } : nil
    }
}
