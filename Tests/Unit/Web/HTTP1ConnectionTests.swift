import PostriderNotifications
import PostriderWeb
import Testing

@Suite("A connection of HTTP/1.1")
struct HTTP1ConnectionTests {
    private static let push =
        "POST /push/abc?x=1 HTTP/1.1\r\nHost: relay\r\nTTL:  60 \r\n"
        + "topic: a\r\nContent-Length: 5\r\n\r\nhello"

    @Test("gives whole requests, however they arrive", arguments: [1, 2, 7, 64, .max])
    func pieces(_ size: Int) throws {
        let client = Client(Self.push + Self.push, pieces: size)
        #expect(client.violation == nil)
        #expect(client.requests.count == 2)
        let request = try #require(client.requests.last)
        #expect(request.head.method == "POST")
        #expect(request.head.target == "/push/abc?x=1")
        #expect(request.head.path == "/push/abc")
        #expect(request.head["ttl"] == "60")
        #expect(request.body == Array("hello".utf8))
        #expect(client.answers == String(repeating: "HTTP/1.1 204 No Content\r\n\r\n", count: 2))
        #expect(!client.connection.isMidRequest && !client.connection.isClosed)
    }

    @Test("reads chunks with extensions and trailers", arguments: [1, 3, .max])
    func chunks(_ size: Int) {
        let text =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"
        let client = Client(text + Self.push, pieces: size)
        #expect(client.violation == nil)
        #expect(
            client.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["abc0123456789", "hello"])
    }

    @Test("lets requests wait until the one before them is answered")
    func pipeline() throws {
        let client = Client(Self.push + Self.push, answering: nil)
        #expect(client.requests.count == 1)
        var connection = client.connection
        #expect(connection.awaitsAnswer && !connection.isOverfull)
        connection.receive([UInt8](repeating: 0x41, count: Limits.webWaitingBytes).span)
        #expect(connection.isOverfull)
        connection.answer(WebResponse(status: 201, fields: [.init("location", "/m/1")], body: [0x7B]))
        let answer = "HTTP/1.1 201 Created\r\nlocation: /m/1\r\ncontent-length: 1\r\n\r\n{"
        #expect(String(decoding: connection.output, as: UTF8.self) == answer)
        #expect(try connection.next()?.body == Array("hello".utf8))
    }

    @Test("ends after the answer if the client wants that or speaks HTTP/1.0")
    func ends() {
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        ] {
            let client = Client(text + Self.push)
            #expect(client.requests.count == 1)
            #expect(client.answers == "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
            #expect(client.connection.isClosed)
        }
    }

    @Test("answers HEAD without a body, and says how long that would be")
    func head() {
        let client = Client(
            "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", answering: WebResponse(status: 404, body: [1, 2, 3]))
        #expect(client.answers == "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\n")
    }

    @Test("asks for a body whose client waits to be asked")
    func expectation() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        #expect(Client(head).answers == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(Client(head + "a").answers == "HTTP/1.1 204 No Content\r\n\r\n")
    }

    @Test("keeps one byte more of a body than a push may have, and reads it to its end")
    func largeBody() {
        let count = Limits.webDrainedBytes
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
        let client = Client(Array(head.utf8) + [UInt8](repeating: 0x61, count: count))
        #expect(client.requests.map(\.body.count) == [Limits.webPushBytes + 1])
        #expect(!client.connection.isClosed)
    }

    @Test("takes a target in absolute form, and `*` for OPTIONS")
    func targets() {
        func target(_ line: String) -> String? {
            Client(line + " HTTP/1.1\r\nHost: a\r\n\r\n").requests.first?.head.target
        }
        #expect(target("GET HTTPS://relay:443/push/a?b") == "/push/a?b")
        #expect(target("GET http://relay") == "/")
        #expect(target("OPTIONS *") == "*")
        #expect(target("GET *") == nil)
    }

    @Test("switches to another protocol and gives back what has arrived of it")
    func upgrade() {
        let client = Client("GET / HTTP/1.1\r\nHost: a\r\n\r\n\u{1}\u{2}", answering: nil)
        var connection = client.connection
        #expect(connection.switchProtocols([.init("upgrade", "websocket")]) == [1, 2])
        let answer = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"
        #expect(String(decoding: connection.output, as: UTF8.self) == answer)
    }

    /// Requests that break the rules: what is sent, and the status of the answer.
    static let violations: [(String, Int)] = [
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\rX: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: b\u{0}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET relay HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTPS/1.1\r\nHost: a\r\n\r\n", 400),
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX Y: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n", 417),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 8000) + "\r\n\r\n", 431),
        (String(repeating: "a", count: 8001), 431),
        (String(repeating: "\r\n", count: 4001), 431),
        ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "a: b\r\n", count: 100) + "\r\n", 431),
    ]

    @Test("ends with an answer to whatever could mean two things", arguments: violations.indices, [1, .max])
    func violation(_ index: Int, _ size: Int) {
        let (text, status) = Self.violations[index]
        // What follows must not be taken for a request.
        let client = Client(text + Self.push, pieces: size)
        #expect(client.requests.isEmpty)
        #expect(client.violation?.status == status)
        #expect(client.answers.hasPrefix("HTTP/1.1 \(status) "))
        #expect(client.answers.contains("\r\nconnection: close\r\n"))
        #expect(client.connection.isClosed && !client.connection.isMidRequest)
    }

    @Test("ends when the chunks of a body are too many")
    func manyChunks() {
        let chunks = String(repeating: "1\r\na\r\n", count: Limits.webDrainedBytes + 1)
        let client = Client("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        #expect(client.violation?.status == 413)
    }
}
