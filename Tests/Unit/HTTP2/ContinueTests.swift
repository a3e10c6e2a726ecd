import PostriderHTTP2
import Testing

/// Runs with both decoders of header blocks: the server's own, and nghttp2's.
@Suite("A request that expects 100-continue") struct ContinueTests {
    private func head(_ value: String, flags: UInt8 = 4) -> [UInt8] {
        let field = [0x00, 6] + Array("expect".utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        return Frame(kind: .headers, flags: flags, stream: 1, payload: Frame.postBlock + field).bytes
    }

    private let body = Frame(kind: .data, flags: 1, stream: 1, payload: [1, 2, 3]).bytes

    private final class Server {
        let handler = Recorder()
        let session: HTTP2Connection

        init(own: Bool) throws {
            var settings = SessionSettings()
            settings.readsHeaderBlocks = own
            session = HTTP2Connection(role: .server, settings: settings, handler: handler)
            handler.onEnded = { [unowned self] in session.respond($0, ok) }
            try session.receive(Frame.opening)
            _ = session.drained()
        }

        /// Returns the HEADERS frames in the answer to these bytes.
        func answers(to bytes: [UInt8]) throws -> [Frame] {
            try session.receive(bytes)
            return Frame.all(in: session.drained()).filter { $0.kind == .headers }
        }
    }

    @Test(
        "gets 100 as long as nothing of its body has come, and then its answer", .bug(id: "R26"),
        arguments: [true, false], ["100-continue", "100-Continue", "x=1, 100-continue"])
    func continues(own: Bool, value: String) throws {
        let server = try Server(own: own)
        let interim = try server.answers(to: head(value))
        #expect(interim.map(\.description) == ["headers 1"])
        // The name is entry 8 of the static table, and the value is not added to the dynamic table.
        #expect(interim.first?.payload.first.map { $0 & 0xE0 == 0 && $0 & 0x0F == 8 } == true)
        #expect(try server.answers(to: body).map(\.description) == ["headers+end 1"])
        #expect(server.handler.bodies[1] == [1, 2, 3])
    }

    @Test(
        "gets no 100 when its body has come, or was never to come", .bug(id: "R26"), arguments: [true, false])
    func needless(own: Bool) throws {
        for bytes in [head("100-continue") + body, head("100-continue", flags: 5)] {
            let answers = try Server(own: own).answers(to: bytes)
            #expect(answers.map(\.description) == ["headers+end 1"])
        }
    }

    @Test("gets no 100 when it is answered at once", .bug(id: "R26"), arguments: [true, false])
    func refused(own: Bool) throws {
        let server = try Server(own: own)
        server.handler.onHeaders = { [unowned server] stream, _ in
            server.session.respond(stream, [":status": "404"])
        }
        #expect(try server.answers(to: head("100-continue")).map(\.description) == ["headers+end 1"])
    }

    @Test(
        "is told from one that expects something else, or nothing", .bug(id: "R26"), arguments: [true, false])
    func others(own: Bool) throws {
        for value in ["100-continued", "", "200-ok"] {
            let server = try Server(own: own)
            #expect(try server.answers(to: head(value)).isEmpty)
            #expect(try server.answers(to: body).map(\.description) == ["headers+end 1"])
        }
    }

    @Test("gets its field with the answer and not with the 100 that leaves before it", .bug(id: "R26"))
    func tail() throws {
        let pair = Pair()
        let identifier = Array("7".utf8)
        pair.atServer.onEnded = { [unowned pair] in pair.server.respondOK($0, "apns-id", identifier.span) }
        var expecting = post
        expecting.add("expect", "100-continue")
        let stream = try pair.client.openRequest(expecting)
        try pair.server.receive(pair.client.drained())
        pair.client.send(stream, [1])
        pair.client.finish(stream)
        try pair.server.receive(pair.client.drained())
        try pair.run()
        #expect(
            pair.atClient.streamEvents == [
                "informational 1 [:status: 100]", "head 1 end [:status: 200, apns-id: 7]", "ended 1",
                "closed 1 0",
            ])
    }
}
