import PostriderHTTP2
import Testing

@Suite struct ExchangeTests {
    @Test("Both ends say SETTINGS first, and the client asks for no pushes")
    func settingsFirst() throws {
        let pair = Pair()
        try pair.run()
        let server = Frame.all(in: pair.fromServer)
        let client = Frame.all(in: pair.fromClient)
        #expect(pair.fromClient.starts(with: Frame.preface))
        #expect(server.first?.kind == .settings && server.first?.flags == 0)
        #expect(client.first?.kind == .settings && client.first?.flags == 0)
        #expect(client.first?.payload.contains([0, 2, 0, 0, 0, 0]) == true)
        #expect(server.first?.payload.contains([0, 3, 0, 0, 3, 232]) == true)
        #expect(server.first?.payload.contains([0, 6, 0, 0, 31, 64]) == true)
        #expect(pair.atClient.events == ["settings 1000", "settings acknowledged"])
        #expect(pair.atServer.events.contains("settings acknowledged"))
    }

    @Test(
        "A request with a body is answered without one: a single HEADERS frame", arguments: [Int.max, 1, 7])
    func answerWithoutBody(step: Int) throws {
        let pair = Pair()
        pair.step = step
        pair.atServer.onEnded = { pair.server.respond($0, ok) }
        let stream = try pair.client.request(post, body: Array("hello".utf8))
        try pair.run()
        #expect(
            pair.atServer.streamEvents == [
                "head 1 [:method: POST, :scheme: https, :path: /3/device/00, :authority: relay]",
                "ended 1", "closed 1 0",
            ])
        #expect(pair.atServer.bodies[stream] == Array("hello".utf8))
        #expect(pair.atClient.streamEvents == ["head 1 end [:status: 200]", "ended 1", "closed 1 0"])
        let answer = Frame.all(in: pair.fromServer).filter { $0.stream == 1 }
        #expect(answer.map(\.description) == ["headers+end 1"])
        #expect(pair.client.streamCount == 0 && pair.server.streamCount == 0)
    }

    @Test(
        "Acceptances carry a field of their own each, between other answers and where some were reset",
        arguments: [true, false])
    func acceptances(own: Bool) throws {
        var settings = SessionSettings()
        settings.readsHeaderBlocks = own
        let pair = Pair(server: settings)
        let streams = try (0..<6).map { _ in try pair.client.request(post) }
        try pair.run()
        let value = { (stream: Int32) in Array("identity-\(stream)".utf8) }
        for stream in streams.reversed() where stream != streams[2] {
            pair.server.respondOK(stream, "apns-id", value(stream).span)
        }
        pair.server.respond(streams[2], [":status": "404", "apns-id": "none"], body: [0x7B, 0x7D])
        // The answer to this request is lost; the other requests must not get it.
        try pair.server.receive(Frame(kind: .reset, stream: UInt32(streams[4]), payload: [0, 0, 0, 8]).bytes)
        try pair.run()
        let answered = streams.reversed().filter { $0 != streams[4] && $0 != streams[2] }
        let heads = pair.atClient.events.filter { $0.hasPrefix("head") }
        #expect(
            heads == answered.map { "head \($0) end [:status: 200, apns-id: identity-\($0)]" } + [
                "head \(streams[2]) [:status: 404, apns-id: none]"
            ])
        // Nor must the requests that follow.
        let next = try pair.client.request(post)
        pair.atServer.onEnded = { pair.server.respondOK($0, "apns-id", value($0).span) }
        try pair.run()
        #expect(pair.atClient.events.contains("head \(next) end [:status: 200, apns-id: identity-\(next)]"))
    }

    @Test("An error is HEADERS and exactly one DATA frame that ends the stream", arguments: [Int.max, 1])
    func answerWithBody(step: Int) throws {
        let pair = Pair()
        pair.step = step
        let reason = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        pair.atServer.onEnded = { pair.server.respond($0, [":status": "400"], body: reason) }
        _ = try pair.client.request(post)
        try pair.run()
        let answer = Frame.all(in: pair.fromServer).filter { $0.stream == 1 }
        #expect(answer.map(\.description) == ["headers 1", "data+end 1"])
        #expect(answer.last?.payload == reason)
        #expect(pair.atClient.bodies[1] == reason)
        #expect(pair.atClient.closings == ["closed 1 0"])
    }

    @Test("Many requests are answered each with its own body")
    func manyStreams() throws {
        let pair = Pair()
        pair.atServer.onEnded = { stream in
            pair.server.respond(stream, ok, body: Array("\(stream)".utf8))
        }
        for round in 0..<3 {
            for _ in 0..<500 { _ = try pair.client.request(post, body: Array("body".utf8)) }
            try pair.run()
            #expect(pair.atClient.closings.count == 500 * (round + 1))
        }
        #expect(pair.atClient.bodies.count == 1500)
        #expect(pair.atClient.bodies.allSatisfy { String(decoding: $1, as: UTF8.self) == "\($0)" })
    }

    @Test("Interim answers are told from the final one")
    func interim() throws {
        let pair = Pair()
        _ = try pair.client.request(post)
        try pair.client.receive(Frame(kind: .settings).bytes)
        _ = pair.client.drained()
        // HPACK: `:status` is static entry 8; 103 as a literal, 204 is entry 9.
        let hints = Frame(kind: .headers, flags: 4, stream: 1, payload: [0x08, 0x03, 0x31, 0x30, 0x33])
        let final = Frame(kind: .headers, flags: 5, stream: 1, payload: [0x89])
        try pair.client.receive((hints.bytes + final.bytes))
        #expect(
            pair.atClient.streamEvents == [
                "informational 1 [:status: 103]", "head 1 end [:status: 204]", "ended 1", "closed 1 0",
            ])
    }

    @Test("Fields that must not be indexed are sent as literals and arrive")
    func unindexed() throws {
        let pair = Pair()
        var head = post
        head.addUnindexed("apns-id", "0001")
        let names = Array("apns-id".utf8)
        head.add("x-bytes", names.span)
        #expect(head.count == 6)
        #expect(head.text(of: "apns-id") == "0001")
        #expect(head.value(of: "x-bytes") == names)
        #expect(head.value(of: "absent") == nil)
        for _ in 0..<2 { _ = try pair.client.request(head) }
        try pair.run()
        let blocks = Frame.all(in: pair.fromClient).filter { $0.kind == .headers }.map(\.payload)
        #expect(blocks.count == 2)
        // Never-indexed literals begin with 0001; the value stays in the second block, the indexed field
        // does not.
        #expect(blocks.allSatisfy { $0.contains(0x10) })
        #expect((blocks.last?.count ?? 99) < (blocks.first?.count ?? 0))
        #expect(pair.atServer.events.filter { $0.contains("apns-id: 0001, x-bytes: apns-id") }.count == 2)
    }

    @Test("An emptied block is empty and can be filled again")
    func reuse() {
        var block: HeaderBlock = ["a": "b"]
        block.removeAll()
        #expect(block.count == 0 && block.listBytes == 0)
        block.add("name", "value")
        #expect(block.text(of: "name") == "value")
        #expect(block.listBytes == 41)
    }

    @Test("A part of a value can be written over, and nothing else changes")
    func overwriting() {
        var block: HeaderBlock = [":path": "/3/device/0000", "apns-id": "0000", "apns-topic": "a"]
        let copy = block
        block.overwrite(0, at: 10, with: Array("12".utf8).span)
        block.overwrite(1, at: 0, with: Array("abcd".utf8).span)
        #expect(block.text(of: ":path") == "/3/device/1200")
        #expect(block.text(of: "apns-id") == "abcd")
        #expect(block.text(of: "apns-topic") == "a")
        #expect(block.listBytes == copy.listBytes)
        #expect(copy.text(of: "apns-id") == "0000")
    }
}
