import Dispatch
import PostriderCaptures
import PostriderCommands
import PostriderHTTP1
import PostriderNotifications
import PostriderRelay
import PostriderTransport
import Synchronization

/// Serves the captures and the rules of a relay for tests over HTTP/1.1, with the requests and answers of the control
/// socket, and the captures as server-sent events.
///
/// Each connection has a thread of its own, so that a request may wait for captures.
final class CapturesService: Sendable {
    private let bench: TestBench
    private let hosts: AllowedHosts
    private let server = Mutex<HTTP1Server?>(nil)
    private let ending = Ending()

    /// Whether the service ends; shared with the streams of events.
    final class Ending: Sendable {
        private let hasBegun = Atomic(false)
        private let waiting = Mutex<(last: Int, bells: [Int: DispatchSemaphore])>((0, [:]))

        var isOver: Bool { hasBegun.load(ordering: .acquiring) }

        /// Ends all waiting for captures, now and later.
        func begin() {
            hasBegun.store(true, ordering: .releasing)
            for bell in waiting.withLock({ Array($0.bells.values) }) { bell.signal() }
        }

        func add(_ bell: DispatchSemaphore) -> Int {
            waiting.withLock { waiting in
                waiting.last += 1
                waiting.bells[waiting.last] = bell
                return waiting.last
            }
        }

        func remove(_ number: Int) { waiting.withLock { $0.bells[number] = nil } }
    }

    /// The address of the examples.
    static let usualAddress = "127.0.0.1:2196"

    /// The address that it listens on; nil once it has stopped.
    var address: SocketAddress? { server.withLock { $0?.address } }

    /// Starts to serve.
    ///
    /// - Parameter names: the host names by which clients reach it, besides `localhost` and addresses.
    init(at address: SocketAddress, _ bench: TestBench, names: [String]) throws {
        self.bench = bench
        hosts = AllowedHosts(names)
        let bounds = HTTP1Bounds(
            connections: Limits.captureConnections, connectionsPerAddress: nil,
            timeoutSeconds: Limits.captureConnectionSeconds, connectionBytes: Limits.captureConnectionBytes,
            bodyBytes: Limits.ruleBytes, hasThreadPerConnection: true)
        let started = try HTTP1Server(at: address, certificate: nil, bounds: bounds) { [weak self] request in
            self?.respond(to: request) ?? HTTP1Response(status: 503, body: "starting\n")
        }
        server.withLock { $0 = started }
    }

    /// Closes all connections.
    func stop() {
        ending.begin()
        let server = server.withLock { server in
            defer { server = nil }
            return server
        }
        server?.stop()
    }

    // MARK: Requests, on the threads of the connections

    func respond(to request: HTTP1Request) -> HTTP1Response {
        if let sentence = hosts.objection(to: request) {
            return Self.response(BenchAnswers.refusal(403, sentence))
        }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let method = request.method == "HEAD" ? "GET" : request.method
        if parts == ["", "v1", "captures"], method == "GET" { return captures(request) }
        if parts == ["", "v1", "captures", "events"], method == "GET" { return events(request) }
        if parts.count == 3, parts[0].isEmpty, parts[1] == "v1",
            let answer = BenchAnswers(of: bench).answer(method, parts[2], request.body)
        {
            return Self.response(answer)
        }
        let sentence =
            "There is no \(request.method) \(request.path) here: there are GET and DELETE /v1/captures, "
            + "GET /v1/captures/events, GET and PUT /v1/rules."
        return Self.response(BenchAnswers.refusal(404, sentence))
    }

    /// Answers a query as soon as the captures that it waits for exist, or when its time is over.
    private func captures(_ request: HTTP1Request) -> HTTP1Response {
        do throws(CaptureQuery.Mistake) {
            let query = try CaptureQuery(request.query)
            if let milliseconds = query.waitMilliseconds {
                let deadline = DispatchTime.now() + .milliseconds(milliseconds)
                let alarm = CaptureAlarm(bench, ending)
                while !bench.isComplete(query), !ending.isOver, alarm.wait(until: deadline) {}
            }
            return Self.response((200, bench.json(query)), isLines: query.isLines)
        } catch {
            return Self.response(BenchAnswers.refusal(400, error.sentence))
        }
    }

    /// Sends captures as server-sent events, from now on or from the one on that the client names.
    private func events(_ request: HTTP1Request) -> HTTP1Response {
        do throws(CaptureQuery.Mistake) {
            // After a lost connection, a client sends the number of the last event that it got (HTML, section 9.2.4).
            let query = try CaptureQuery(events: request.query, last: request.field("Last-Event-ID"))
            let stream = CaptureEvents(query, of: bench, ending)
            return HTTP1Response(
                status: 200, contentType: "text/event-stream", body: CaptureEvents.start,
                fields: [("Cache-Control", "no-store")], stream: stream)
        } catch {
            return Self.response(BenchAnswers.refusal(400, error.sentence))
        }
    }

    private static func response(_ answer: BenchAnswers.Answer, isLines: Bool = false) -> HTTP1Response {
        HTTP1Response(
            status: answer.status, contentType: isLines ? "application/x-ndjson" : "application/json",
            body: String(decoding: answer.body, as: UTF8.self), fields: [("Cache-Control", "no-store")])
    }
}

/// Makes a thread wait until a captured request gets its outcome.
final class CaptureAlarm: Sendable {
    private let bench: TestBench
    private let ending: CapturesService.Ending
    private let bell = DispatchSemaphore(value: 0)
    private let numbers = Mutex((watch: 0, ending: 0))

    init(_ bench: TestBench, _ ending: CapturesService.Ending) {
        self.bench = bench
        self.ending = ending
        let bell = bell
        let watch = bench.watch { bell.signal() }
        let place = ending.add(bell)
        numbers.withLock { $0 = (watch, place) }
    }

    deinit {
        let numbers = numbers.withLock { $0 }
        bench.unwatch(numbers.watch)
        ending.remove(numbers.ending)
    }

    /// Returns true when a request has got its outcome since the last call, or the service ends; false when the time is
    /// over.
    func wait(until deadline: DispatchTime) -> Bool { bell.wait(timeout: deadline) == .success }
}

/// Captures as server-sent events (HTML, section 9.2), each when it has its outcome.
final class CaptureEvents: HTTP1Stream {
    private let bench: TestBench
    private let ending: CapturesService.Ending
    private let alarm: CaptureAlarm
    private let query: Mutex<CaptureQuery>

    /// A client that has read this misses no later capture.
    static let start = ": captures follow\n\n"

    /// A stream of the captures that a query selects.
    ///
    /// - Parameter query: without a number, it begins with the next capture.
    init(_ query: CaptureQuery, of bench: TestBench, _ ending: CapturesService.Ending) {
        self.bench = bench
        self.ending = ending
        alarm = CaptureAlarm(bench, ending)
        var query = query
        query.filter.after = query.filter.after ?? bench.lastNumber
        self.query = Mutex(query)
    }

    func next() -> [UInt8]? {
        let deadline = DispatchTime.now() + .milliseconds(Limits.captureSilenceMilliseconds)
        while !ending.isOver {
            let captures = bench.captures(query.withLock { $0 })
            if let last = captures.last {
                query.withLock { $0.filter.after = last.number }
                return captures.flatMap(\.event)
            }
            // The server notices that a client has left only when it sends something.
            guard alarm.wait(until: deadline) else { return Array(": nothing new\n\n".utf8) }
        }
        return nil
    }
}

/// Refuses requests that a page of another site makes a browser send to a port without authentication.
///
/// The `Origin` shows such requests. A page can also let its own host name resolve to this address (DNS rebinding);
/// then the `Host` is that name.
struct AllowedHosts: Sendable {
    private let names: Set<String>

    init(_ names: [String]) { self.names = Set(names.map { $0.lowercased() } + ["localhost"]) }

    /// The reason why a request is refused, in one sentence; nil if it is accepted.
    func objection(to request: HTTP1Request) -> String? {
        guard let host = request.field("Host"), isAllowed(host) else {
            return
                "Only requests for localhost, for addresses and for the names of 'postrider dev --name' are "
                + "answered: use one of these in the URL."
        }
        let site = request.field("Sec-Fetch-Site") ?? "none"
        let isForeign =
            request.field("Origin").map { $0.lowercased() != "http://" + host.lowercased() } ?? false
        guard !isForeign, ["none", "same-origin"].contains(site) else {
            return "Pages of other sites get no answer here: use a program that is no browser."
        }
        return nil
    }

    /// Whether a `Host` field, with or without a port, is an address or an allowed name.
    private func isAllowed(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[")
        let end = isBracketed ? host.firstIndex(of: "]") : host.lastIndex(of: ":")
        let name = (isBracketed ? host.dropFirst() : host[...]).prefix(upTo: end ?? host.endIndex)
            .lowercased()
        if names.contains(name) { return true }
        return (try? SocketAddress(host: name, port: 0)) != nil
    }
}
