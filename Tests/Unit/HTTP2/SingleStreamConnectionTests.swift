import PostriderSeededRandom
import Testing

@testable import PostriderHTTP2

/// A pair with one open stream on which both sides can send more.
final class LongCall {
    let pair: Pair
    private(set) var stream: Int32 = 0

    init(
        client: SessionSettings = .init(), server change: (inout SessionSettings) -> Void = { _ in },
        isLean: Bool = true
    ) throws {
        var settings = SessionSettings()
        settings.encoderTableSize = 0
        change(&settings)
        pair = Pair(client: client, server: settings)
        pair.atServer.onHeaders = { [unowned pair] stream, _ in
            pair.server.openResponse(stream, [":status": "200"])
        }
        stream = try pair.client.openRequest(post)
        try pair.run()
        if isLean { #expect(pair.server.becomeLean() && pair.server.isLean) }
        pair.atServer.events = []
        pair.atClient.events = []
    }

    /// Returns the server's frames in answer to these frames.
    func answer(to frames: [Frame]) -> [Frame] {
        _ = try? pair.server.receive(frames.flatMap(\.bytes))
        return Frame.all(in: pair.server.drained())
    }
}

@Suite("A lean session")
struct SingleStreamConnectionTests {
    @Test("carries bodies both ways, beyond the windows, however the bytes arrive", arguments: [1, 7, .max])
    func bodies(step: Int) throws {
        let call = try LongCall()
        call.pair.step = step
        let up = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let down = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 * 11) }
        call.pair.client.send(call.stream, up)
        call.pair.server.send(call.stream, down)
        try call.pair.run()
        #expect(call.pair.atServer.bodies[call.stream] == up)
        #expect(call.pair.atClient.bodies[call.stream] == down)
        #expect(call.pair.atServer.events.contains("writable \(call.stream)"))
        call.pair.server.send(call.stream, shared: [1, 2, 3])
        try call.pair.run()
        #expect(call.pair.atClient.bodies[call.stream] == down + [1, 2, 3])
    }

    @Test("sends no more than the peer's windows let out")
    func windows() throws {
        var settings = SessionSettings()
        settings.initialWindowSize = 1000
        settings.automaticWindowUpdates = false
        let call = try LongCall(client: settings)
        call.pair.server.send(call.stream, [UInt8](repeating: 1, count: 2500))
        try call.pair.run()
        #expect(call.pair.atClient.bodies[call.stream]?.count == 1000)
        #expect(call.pair.server.outboundBytes(call.stream) == 1500)
        call.pair.client.consume(call.stream, 1000)
        try call.pair.run()
        #expect(call.pair.atClient.bodies[call.stream]?.count == 2000)
        _ = call.answer(to: [Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 100])])
        #expect(call.pair.server.outboundBytes(call.stream) == 500)
        let grown = call.answer(to: [Frame(kind: .settings, payload: [0, 4, 0, 0, 5, 0])])
        #expect(grown.map(\.kind) == [.settings, .data])
    }

    @Test("ends with trailers and the peer's end, in either order", arguments: [true, false])
    func ends(isServerFirst: Bool) throws {
        let call = try LongCall()
        let trailers: HeaderBlock = ["grpc-status": "0", "grpc-message": String(repeating: "m", count: 300)]
        if isServerFirst {
            call.pair.server.send(call.stream, [9])
            call.pair.server.finish(call.stream, trailers: trailers)
            try call.pair.run()
            #expect(call.pair.atServer.closings == [])
            call.pair.client.finish(call.stream)
        } else {
            call.pair.client.finish(call.stream)
            try call.pair.run()
            #expect(call.pair.atServer.streamEvents == ["ended 1"])
            call.pair.server.send(call.stream, [9])
            call.pair.server.finish(call.stream, trailers: trailers)
        }
        try call.pair.run()
        #expect(call.pair.atServer.closings == ["closed 1 0"] && call.pair.server.streamCount == 0)
        #expect(call.pair.atClient.bodies[1] == [9] && call.pair.atClient.closings == ["closed 1 0"])
        let message = String(repeating: "m", count: 300)
        #expect(
            call.pair.atClient.events.contains("trailers 1 end [grpc-status: 0, grpc-message: \(message)]"))
        #expect(!call.pair.server.isFinished)
        call.pair.server.goaway(debug: Array("bye".utf8))
        try call.pair.run()
        #expect(call.pair.server.isFinished && call.pair.atClient.events.contains("goaway 1 0 bye"))
    }

    @Test("is reset by either end", arguments: [true, false])
    func resets(byServer: Bool) throws {
        let call = try LongCall()
        if byServer {
            call.pair.server.reset(1, errorCode: ErrorCode.cancel)
        } else {
            call.pair.client.reset(1, errorCode: ErrorCode.cancel)
        }
        try call.pair.run()
        #expect(
            call.pair.atServer.closings == ["closed 1 8"] && call.pair.atClient.closings == ["closed 1 8"])
        call.pair.server.send(1, [1])
        call.pair.server.finish(1)
        #expect(!call.pair.server.wantsToSend)
    }

    @Test("answers and makes PINGs")
    func pings() throws {
        let call = try LongCall()
        call.pair.server.ping()
        call.pair.client.ping()
        try call.pair.run()
        #expect(call.pair.atServer.events == ["pong"] && call.pair.atClient.events.contains("pong"))
    }

    @Test("refuses other streams, and the one goes on")
    func otherStreams() throws {
        let call = try LongCall()
        _ = try call.pair.client.request(post, body: [1, 2, 3])
        try call.pair.run()
        #expect(call.pair.atClient.closings == ["closed 3 7"])
        call.pair.client.send(1, [4])
        try call.pair.run()
        #expect(call.pair.atServer.bodies == [1: [4]])
    }

    @Test("ends for a peer that has nearly all of its streams refused")
    func manyStreams() throws {
        let call = try LongCall()
        #expect(throws: SessionError.tooManyResets) {
            for stream in 1...2000 as ClosedRange<UInt32> {
                try call.pair.server.receive(
                    Frame(kind: .headers, flags: 5, stream: 2 * stream + 1, payload: Frame.postBlock).bytes)
            }
        }
        #expect(Frame.all(in: call.pair.server.drained()).last?.kind == .goaway)
        #expect(call.pair.server.isFinished || call.pair.server.streamCount == 1)
    }

    @Test("takes what has to be ignored: padding, unknown frames and settings, what is late")
    func ignored() throws {
        let call = try LongCall()
        let unknown = [0, 0, 3, 99, 0, 0, 0, 0, 1, 1, 2, 3] as [UInt8]
        try call.pair.server.receive(unknown)
        let answers = call.answer(to: [
            Frame(kind: .data, flags: 8, stream: 1, payload: [2, 42, 0, 0]),
            Frame(kind: .settings, payload: [0, 99, 1, 1, 1, 1]),
            Frame(kind: .priority, stream: 1, payload: [0, 0, 0, 0, 1]),
            Frame(kind: .headers, flags: 4, stream: 3, payload: Frame.postBlock),
            Frame(kind: .data, flags: 1, stream: 3, payload: [1]),
            Frame(kind: .reset, stream: 3, payload: [0, 0, 0, 8]),
            Frame(kind: .headers, flags: 4, stream: 5, payload: Frame.postBlock),
            Frame(kind: .headers, flags: 5, stream: 5, payload: []),
            Frame(kind: .windowUpdate, stream: 3, payload: [0, 0, 0, 8]),
        ])
        #expect(call.pair.atServer.bodies == [1: [42]])
        #expect(answers.map(\.kind) == [.settings, .reset, .reset] && call.pair.server.failure == nil)
    }

    @Test("is not lean while anything is under way, and is later")
    func notYet() throws {
        let call = try LongCall(isLean: false)
        let (client, server) = (call.pair.client, call.pair.server)
        let situations: [(String, () throws -> Void, () throws -> Void)] = [
            (
                "a second stream",
                {
                    _ = try client.openRequest(post); try call.pair.run()
                },
                {
                    client.reset(3, errorCode: ErrorCode.cancel); try call.pair.run()
                }
            ),
            ("something to be sent", { server.send(1, [1]) }, { try call.pair.run() }),
            ("a PING to be sent", { server.ping() }, { try call.pair.run() }),
            (
                "half a frame",
                { try server.receive(Array(Frame(kind: .data, stream: 1, payload: [1]).bytes.prefix(4))) },
                { try server.receive(Array(Frame(kind: .data, stream: 1, payload: [1]).bytes.dropFirst(4))) }
            ),
            (
                "settings that are not acknowledged",
                {
                    server.updateMaxConcurrentStreams(3); _ = server.drained()
                },
                { try server.receive(Frame(kind: .settings, flags: 1).bytes) }
            ),
            (
                "a window that is below nothing",
                {
                    server.send(1, [1, 2, 3]); try call.pair.run()
                    _ = call.answer(to: [Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 0])])
                },
                { try server.receive(Frame(kind: .windowUpdate, stream: 1, payload: [0, 0, 0, 9]).bytes) }
            ),
        ]
        for (what, begin, end) in situations {
            try begin()
            #expect(!server.becomeLean(), "\(what)")
            try end()
        }
        #expect(server.becomeLean())
        client.send(1, [7])
        try call.pair.run()
        #expect(call.pair.atServer.bodies[1]?.last == 7)
    }

    @Test(
        "becomes lean by itself when it has sent, or heard, the last of what is under way",
        arguments: [true, false])
    func byItself(isHeardLast: Bool) throws {
        let call = try LongCall(isLean: false)
        let (client, server) = (call.pair.client, call.pair.server)
        if isHeardLast {
            _ = try client.openRequest(post)
            try call.pair.run()
        } else {
            server.send(1, [1])
        }
        server.becomeLeanWhenQuiet()
        try server.receive(Frame(kind: .windowUpdate, payload: [0, 0, 0, 1]).bytes)
        #expect(!server.isLean)
        if isHeardLast { client.reset(3, errorCode: ErrorCode.cancel) }
        try call.pair.run()
        #expect(server.isLean)
        client.send(1, [7])
        server.send(1, [8])
        try call.pair.run()
        #expect(call.pair.atServer.bodies[1] == [7] && call.pair.atClient.bodies[1]?.last == 8)
    }

    @Test("has its stream's trailers once, when it has reset it before they came")
    func crossing() throws {
        let call = try LongCall()
        call.pair.server.reset(1, errorCode: ErrorCode.cancel)
        let trailers = Frame(kind: .headers, flags: 5, stream: 1)
        #expect(
            call.answer(to: [Frame(kind: .data, stream: 1, payload: [1]), trailers]).map(\.kind) == [.reset])
        #expect(call.pair.server.failure == nil && call.pair.atServer.bodies.isEmpty)
        #expect(call.answer(to: [trailers]).map(\.kind) == [.goaway])
    }

    @Test("is never lean with header tables, after the end, or by a client")
    func never() throws {
        let table = try LongCall(server: { $0.encoderTableSize = 4096 }, isLean: false)
        #expect(!table.pair.server.becomeLean())
        let call = try LongCall(isLean: false)
        #expect(!call.pair.client.becomeLean())
        call.pair.server.goaway()
        #expect(!call.pair.server.becomeLean())
        call.pair.server.end()
        #expect(!call.pair.server.becomeLean())
    }

    @Test("says and hears what one does that is not lean", arguments: 1...40)
    func asBefore(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &chance) }
        let calls = [try LongCall(isLean: false), try LongCall(isLean: true)]
        for _ in 0..<30 {
            let (what, count) = (draw(6), draw(9) == 0 ? draw(90_000) : draw(200))
            for call in calls {
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count)
                switch what {
                case 0: call.pair.client.send(1, bytes)
                case 1: call.pair.server.send(1, bytes)
                case 2: call.pair.client.ping()
                case 3: call.pair.server.ping()
                case 4: call.pair.step = max(1, count)
                default: try call.pair.run()
                }
            }
        }
        for call in calls {
            call.pair.server.finish(1, trailers: ["grpc-status": "0"])
            try call.pair.run()
            call.pair.client.finish(1)
            call.pair.server.goaway()
            try call.pair.run()
        }
        #expect(calls[0].pair.atServer.bodies == calls[1].pair.atServer.bodies)
        #expect(calls[0].pair.atClient.bodies == calls[1].pair.atClient.bodies)
        let heard = calls.map { $0.pair.atClient.streamEvents.filter { $0 != "writable 1" } }
        #expect(heard[0] == heard[1])
        let served = calls.map { $0.pair.atServer.streamEvents.filter { $0 != "writable 1" } }
        #expect(served[0] == served[1])
    }
}
