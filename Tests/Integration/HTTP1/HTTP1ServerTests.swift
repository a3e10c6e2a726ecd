import Foundation
import Glibc
import PostriderCrypto
import PostriderHTTP1
import PostriderTransport
import Synchronization
import Testing

@Suite("An HTTP/1.1 server for operators")
struct HTTP1ServerTests {
    private static let bounds = HTTP1Bounds(
        connections: 4, connectionsPerAddress: nil, timeoutSeconds: 1, connectionBytes: 16_384)

    private func start(
        _ bounds: HTTP1Bounds = bounds,
        _ respond: @escaping HTTP1Server.Respond = { HTTP1Response(status: 200, body: "\($0.path)\n") }
    ) throws -> HTTP1Server {
        try HTTP1Server(
            at: try SocketAddress("127.0.0.1:0"), certificate: nil, bounds: bounds, respond: respond)
    }

    @Test("tells whoever answers the method, the path without its query, and who asks")
    func request() throws {
        let server = try start { request in
            HTTP1Response(
                status: 200, contentType: "text/x",
                body: "\(request.method) \(request.path) \(request.field("authorization") ?? "nobody")")
        }
        let client = try Client(server.address)
        client.send(
            "GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\nConnection: close\r\n\r\n")
        let answer = client.receiveAll()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: text/x\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nGET /metrics Bearer abc"))
    }

    @Test("answers several requests of one connection, HEAD without the body")
    func connection() throws {
        let server = try start()
        let client = try Client(server.address)
        client.send(
            "HEAD /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let answers = client.receiveAll()
        #expect(answers.contains("Content-Length: 5\r\n"))
        #expect(!answers.contains("/one"))
        #expect(answers.hasSuffix("/two\n"))
    }

    @Test("refuses other methods, and whoever sends a body")
    func others() throws {
        let isAsked = Atomic(false)
        let server = try start { _ in
            isAsked.store(true, ordering: .relaxed)
            return HTTP1Response(status: 200, body: "")
        }
        let post = try Client(server.address)
        post.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
        let refusal = post.receiveAll()
        #expect(refusal.hasPrefix("HTTP/1.1 405 "))
        #expect(refusal.contains("Allow: GET, HEAD\r\n"))
        let body = try Client(server.address)
        body.send("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
        #expect(body.receiveAll() == "")
        let wasAsked = isAsked.load(ordering: .relaxed)
        #expect(!wasAsked)
    }

    private static let threaded = HTTP1Bounds(
        connections: 4, connectionsPerAddress: nil, timeoutSeconds: 60, connectionBytes: 16_384,
        bodyBytes: 100,
        hasThreadPerConnection: true)

    @Test("hands over query, header fields and body where it takes bodies")
    func wholeRequest() throws {
        let server = try start(Self.threaded) { request in
            let field = request.field("X-Name") ?? "-"
            let body = String(decoding: request.body, as: UTF8.self)
            return HTTP1Response(
                status: 200, body: "\(request.method) \(request.path) \(request.query) \(field) \(body)")
        }
        let client = try Client(server.address)
        client.send(
            "PUT /a?x=1&y=a%20b%26c&z HTTP/1.1\r\nHost: x\r\nx-name: n\r\nContent-Length: 4\r\n\r\nbody"
                + "PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        let answers = client.receiveAll()
        #expect(answers.contains("\r\n\r\nPUT /a x=1&y=a%20b%26c&z n body"))
        #expect(answers.hasSuffix("\r\n\r\nPUT /b  - abcde"))
    }

    @Test("refuses a body that is longer than it may be, announced or not")
    func longBody() throws {
        let isAsked = Atomic(false)
        let server = try start(Self.threaded) { _ in
            isAsked.store(true, ordering: .relaxed)
            return HTTP1Response(status: 200, body: "")
        }
        let body = String(repeating: "x", count: 101)
        let announced = try Client(server.address)
        announced.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\nConnection: close\r\n\r\n\(body)")
        #expect(announced.receiveAll().hasPrefix("HTTP/1.1 413 "))
        let chunked = try Client(server.address)
        chunked.send(
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n\(body)\r\n0\r\n\r\n")
        #expect(!chunked.receiveAll().hasPrefix("HTTP/1.1 200"))
        let wasAsked = isAsked.load(ordering: .relaxed)
        #expect(!wasAsked)
    }

    @Test("answers others while one waits, where each connection has a thread")
    func threads() throws {
        let bell = DispatchSemaphore(value: 0)
        let server = try start(Self.threaded) { request in
            if request.path == "/slow" { bell.wait() }
            return HTTP1Response(status: 200, body: request.path)
        }
        let slow = try Client(server.address)
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try Client.get("/quick", server.address).hasSuffix("/quick"))
        bell.signal()
        #expect(slow.receiveAll().hasSuffix("/slow"))
    }

    @Test("sends a stream piece by piece, to its end")
    func stream() throws {
        let server = try start(Self.threaded) { _ in
            HTTP1Response(status: 200, contentType: "text/event-stream", body: "start ", stream: Pieces())
        }
        let answer = try Client.get("/", server.address)
        #expect(answer.contains("Content-Type: text/event-stream\r\n"))
        // Three pieces, and one that is longer than what is sent at once.
        let text = answer.components(separatedBy: "\r\n").joined()
        for piece in ["start ", "one ", "two "] { #expect(text.contains(piece)) }
        #expect(answer.count { $0 == "#" } == 50_000)
    }

    private final class Pieces: HTTP1Stream {
        private let left = Mutex(["one ", "two ", String(repeating: "#", count: 50_000)])

        func next() -> [UInt8]? { left.withLock { $0.isEmpty ? nil : Array($0.removeFirst().utf8) } }
    }

    @Test("refuses a request whose head is larger than its memory, and garbage")
    func garbage() throws {
        let server = try start()
        let large = try Client(server.address)
        large.send("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 32_768))\r\n\r\n")
        #expect(!large.receiveAll().hasPrefix("HTTP/1.1 200"))
        let garbage = try Client(server.address)
        garbage.send("\u{16}\u{3}\u{1}garbage\r\n\r\n")
        #expect(!garbage.receiveAll().hasPrefix("HTTP/1.1 200"))
        #expect(try Client.get("/", server.address).hasPrefix("HTTP/1.1 200"))
    }

    @Test("serves others as soon as those who never read their answers have had their time, and counts these")
    func stuck() throws {
        // The body is larger than the buffers of a connection.
        let body = String(repeating: "x", count: 16 << 20)
        let server = try start { HTTP1Response(status: 200, body: $0.path == "/large" ? body : "well\n") }
        var stuck: [Client] = []
        for _ in 0..<4 {
            let client = try Client(server.address)
            client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            stuck.append(client)
        }
        // Every connection is in use: this one waits until one of them times out.
        #expect(try Client.get("/", server.address).hasSuffix("well\n"))
        #expect(server.abandonedCount > 0)
        withExtendedLifetime(stuck) {}
    }

    @Test("goes on with another certificate at the same address, and as it was where that one is bad")
    func renewal() throws {
        let server = try start()
        #expect(throws: HTTP1Error.self) { try server.renew(HTTP1Certificate(chain: "no", key: "no")) }
        #expect(try Client.get("/before", server.address).hasSuffix("/before\n"))
        let authority = try Certificates.makeAuthority(commonName: "test", validDays: 1)
        try server.renew(HTTP1Certificate(chain: authority.certificate, key: authority.key))
        #expect(!(try Client.get("/", server.address).contains("200")))
        try server.renew(nil)
        #expect(try Client.get("/after", server.address).hasSuffix("/after\n"))
    }

    @Test("says who has the port that it is to listen on")
    func taken() throws {
        let server = try start()
        let error = #expect(throws: TransportError.self) {
            try HTTP1Server(
                at: server.address, certificate: nil, bounds: Self.bounds,
                respond: { _ in HTTP1Response(status: 200, body: "") })
        }
        #expect(
            error?.description
                == "Cannot listen on \(server.address): something else listens there; stop it, or choose "
                + "another address.")
    }

    @Test("serves on a Unix socket, whose file goes with it")
    func unix() throws {
        let path = "/tmp/pr-http1-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        var server: HTTP1Server? = try HTTP1Server(
            at: try SocketAddress(unixPath: path), certificate: nil, bounds: Self.bounds,
            respond: { HTTP1Response(status: 200, body: $0.path) })
        let address = try #require(server?.address)
        #expect(try Client.get("/metrics", address).hasSuffix("/metrics"))
        #expect(FileManager.default.fileExists(atPath: path))
        server = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

/// A client that sends the bytes that the test gives it.
private final class Client {
    private let descriptor: Int32

    init(_ address: SocketAddress) throws {
        if let path = address.unixPath {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
            try connect(&name)
        } else {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = try #require(address.port).bigEndian
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            try connect(&name)
        }
    }

    deinit { close(descriptor) }

    static func get(_ path: String, _ address: SocketAddress) throws -> String {
        let client = try Client(address)
        client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return client.receiveAll()
    }

    /// Sends a text. It is no failure if the server has closed the connection already.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Receives until the server ends the connection.
    func receiveAll() -> String {
        var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while case let count = unsafe recv(descriptor, &buffer, buffer.count, 0), count > 0 {
            all.append(contentsOf: buffer[..<count])
        }
        return String(decoding: all, as: UTF8.self)
    }

    private func connect<Name>(_ name: inout Name) throws {
        let result = unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Name>.size))
            }
        }
        try #require(result == 0)
    }
}
