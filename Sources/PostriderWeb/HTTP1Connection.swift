import PostriderNotifications

/// The server's side of one HTTP/1.1 connection (RFC 9112) as a state machine: bytes in, requests out, one at a time;
/// answers in, bytes out.
///
///     head ──▶ body, or chunks and trailers ──▶ answer is awaited ──▶ head, closed, or another protocol
///
/// Requests that arrive before the answer to the one before them wait (RFC 9112, section 9.3.2). A client that breaks
/// the rules gets one answer, and nothing more of it is read, because whatever follows could mean something else to a
/// proxy between.
package struct HTTP1Connection: Sendable {
    private enum Phase: Equatable {
        case head
        case body(left: Int)
        case chunkLine
        case chunk(left: Int)
        case chunkEnd
        case trailers
        case answering
        case closed
    }

    /// The bytes to be sent. The owner takes them.
    package var output: [UInt8] = []
    private var phase = Phase.head
    private var input = LineReader()
    /// The lines of the current head.
    private var lines: [ArraySlice<UInt8>] = []
    /// The bytes of the current head, or of the current trailers.
    private var headBytes = 0
    private var head: RequestHead?
    private var body: [UInt8] = []
    /// The bytes of the current body, kept or not.
    private var bodyBytes = 0
    /// Whether ``next()`` has returned the request that waits for its answer.
    private var isTaken = false

    package init() {}

    /// Whether a request has begun and has not arrived to its end.
    package var isMidRequest: Bool {
        switch phase {
        case .head: !lines.isEmpty || !input.isEmpty
        case .body, .chunkLine, .chunk, .chunkEnd, .trailers: true
        case .answering, .closed: false
        }
    }

    /// Whether a request waits for its answer.
    package var awaitsAnswer: Bool { phase == .answering }

    /// Whether the connection ends when the output is sent.
    package var isClosed: Bool { phase == .closed }

    /// Whether so much waits for an answer that nothing more should be read.
    package var isOverfull: Bool { phase == .answering && input.count > Limits.webWaitingBytes }

    /// Takes bytes of the client. ``next()`` tells what they are.
    package mutating func receive(_ bytes: Span<UInt8>) {
        if phase != .closed { input.append(bytes) }
    }

    /// The next request that has arrived to its end, if the one before it is answered; nil if there is none yet.
    ///
    /// - Throws: the first violation. Its answer is in the output, and the connection ends with it.
    package mutating func next() throws(HTTPViolation) -> WebRequest? {
        do throws(HTTPViolation) {
            while try step() {}
        } catch {
            phase = .answering
            answer(
                WebResponse(
                    status: error.status, fields: [.init("content-type", "text/plain")],
                    body: Array((error.description + "\n").utf8)),
                isLast: true)
            throw error
        }
        guard phase == .answering, !isTaken, let head else { return nil }
        let request = WebRequest(head: head, body: body)
        isTaken = true
        body = []
        return request
    }

    /// Processes some input. Returns false if more has to arrive first, or an answer be given.
    private mutating func step() throws(HTTPViolation) -> Bool {
        switch phase {
        case .head:
            guard let line = try nextLine() else { return false }
            // An empty line before a request is ignored (RFC 9112, section 2.2).
            if !line.isEmpty { lines.append(line) } else if !lines.isEmpty { try headEnded() }
        case .body(let left):
            try keep(left) { .body(left: $0) }
            if phase == .body(left: 0) { phase = .answering }
            return phase == .answering
        case .chunkLine:
            guard let line = try nextLine() else { return false }
            let size = try Self.chunkSize(line)
            headBytes = 0
            phase = size == 0 ? .trailers : .chunk(left: size)
        case .chunk(let left):
            try keep(left) { .chunk(left: $0) }
            guard phase == .chunk(left: 0) else { return false }
            phase = .chunkEnd
        case .chunkEnd:
            guard let line = try nextLine() else { return false }
            guard line.isEmpty else { throw .wrongChunk }
            phase = .chunkLine
        case .trailers:
            guard let line = try nextLine() else { return false }
            // Trailers are read and ignored (RFC 9110, section 6.5.1).
            if line.isEmpty { phase = .answering } else { _ = try HeadReader.field(line) }
        case .answering, .closed: return false
        }
        return true
    }

    /// The next line without its CR LF, if it has arrived. The lines of a head have a bound in total.
    private mutating func nextLine() throws(HTTPViolation) -> ArraySlice<UInt8>? {
        guard let line = try input.nextLine(most: Limits.webHeadBytes - headBytes) else { return nil }
        headBytes += line.count + 2
        return line
    }

    private mutating func headEnded() throws(HTTPViolation) {
        let (head, framing) = try HeadReader.read(lines)
        lines = []
        headBytes = 0
        bodyBytes = 0
        self.head = head
        switch framing {
        case .length(let length):
            guard length <= Limits.webDrainedBytes else { throw .longBody }
            phase = length == 0 ? .answering : .body(left: length)
        case .chunked: phase = .chunkLine
        }
        guard !head.isOfHTTP10, case let expectations = head.values(of: "expect"), !expectations.isEmpty
        else {
            return
        }
        guard expectations.count == 1, expectations[0].lowercased() == "100-continue" else {
            throw .wrongExpectation
        }
        if phase != .answering, input.isEmpty { output += Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
    }

    /// Takes bytes of the body, and keeps those that a push may have.
    private mutating func keep(_ left: Int, _ then: (Int) -> Phase) throws(HTTPViolation) {
        let bytes = input.take(atMost: left)
        bodyBytes += bytes.count
        guard bodyBytes <= Limits.webDrainedBytes else { throw .longBody }
        body += bytes.prefix(Limits.webPushBytes + 1 - body.count)
        phase = then(left - bytes.count)
    }

    /// The size of a chunk (RFC 9112, section 7.1). Extensions are ignored.
    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPViolation) -> Int {
        let end = line.firstIndex { $0 == UInt8(ascii: ";") } ?? line.endIndex
        let digits = line[..<end]
        guard !digits.isEmpty, digits.count <= 8,
            digits.allSatisfy({ $0.isLetterOrDigit }),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
            line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else { throw .wrongChunk }
        guard size <= Limits.webDrainedBytes else { throw .longBody }
        return size
    }

    // MARK: Answers

    /// Answers the request that waits.
    ///
    /// - Parameter isLast: whether the connection ends with this answer, even if the client would go on.
    package mutating func answer(_ response: WebResponse, isLast: Bool = false) {
        precondition(phase == .answering, "there is a request to answer")
        let goesOn = !isLast && head?.isOfHTTP10 == false && head?.lists("close", in: "connection") == false
        var text = "HTTP/1.1 \(response.status) \(StatusPhrase.of(response.status))\r\n"
        for field in response.fields { text += "\(field.name): \(field.value)\r\n" }
        if response.status != 204 { text += "content-length: \(response.body.count)\r\n" }
        if !goesOn { text += "connection: close\r\n" }
        output += Array((text + "\r\n").utf8)
        if head?.method != "HEAD" { output += response.body }
        forgetRequest()
        phase = goesOn ? .head : .closed
        if phase == .closed { input = LineReader() }
    }

    /// Switches to another protocol with these fields (RFC 9110, section 15.2.2), and returns what has arrived of it.
    package mutating func switchProtocols(_ fields: [RequestHead.Field]) -> [UInt8] {
        precondition(phase == .answering, "there is a request to answer")
        var text = "HTTP/1.1 101 Switching Protocols\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        output += Array((text + "\r\n").utf8)
        forgetRequest()
        phase = .closed
        return Array(input.take(atMost: input.count))
    }

    private mutating func forgetRequest() {
        (head, body, lines) = (nil, [], [])
        (headBytes, bodyBytes) = (0, 0)
        isTaken = false
    }
}
