import Testing

@testable import PostriderTransport

@Suite("The deferred queue")
struct DeferredQueueTests {
    /// A loop that listens, and a loop with connected clients, one of which sends all the time.
    private struct Scene {
        let loop: EventLoop
        let others: EventLoop
        let steady = Probe()

        /// Runs one turn of each loop. Returns whether bytes of the sending client arrived.
        func takeTurns() -> Bool {
            steady.send([1])
            let answers = steady.input.count
            others.turnBriefly()
            loop.turnBriefly()
            others.turnBriefly()
            return steady.input.count > answers
        }
    }

    @Test(
        "lets everybody else have each turn while many come at once, and ends one in a turn when many are cut"
    )
    func turns() throws {
        let tls = try TestTLS()
        let scene = Scene(loop: try EventLoop(), others: try EventLoop())
        let echo = try scene.loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe.echo() }
        scene.others.connect(to: echo.address, session: scene.steady)
        for _ in 0..<20 where scene.steady.input.isEmpty { _ = scene.takeTurns() }

        var servers: [Probe] = []
        let listener = try scene.loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in
            servers.append(Probe())
            return servers.last
        }
        listener.isPaced = true
        let devices = (0..<12).map { _ in Probe() }
        for device in devices {
            scene.others.connect(
                to: listener.address, tls: (tls.client, "localhost"), session: device)
        }
        for _ in 0..<200 where servers.count < devices.count {
            let isHeard = scene.takeTurns()
            #expect(isHeard)
        }
        #expect(servers.count == devices.count)

        for device in devices { device.wire?.abort(.localClose) }
        var ended = 0
        for _ in 0..<200 where ended < servers.count {
            let before = ended
            let isHeard = scene.takeTurns()
            ended = servers.count { !$0.reasons.isEmpty }
            #expect(isHeard)
            #expect(ended - before <= 1)
        }
        #expect(ended == servers.count)
    }

    @Test("is visited when everybody else has been heard and answered, letters included")
    func order() throws {
        let tls = try TestTLS()
        let scene = Scene(loop: try EventLoop(), others: try EventLoop())
        let echo = Probe.echo()
        let echoes = try scene.loop.listen(try SocketAddress("127.0.0.1:0")) { _ in echo }
        scene.others.connect(to: echoes.address, session: scene.steady)
        for _ in 0..<20 where scene.steady.input.isEmpty { _ = scene.takeTurns() }
        let mailbox = try Mailbox<Int>(capacity: 10)
        var lastLetter = 0
        try scene.loop.attach(mailbox) { lastLetter = $0.last ?? lastLetter }

        var number = 0
        var flushes = 0
        var visits = 0
        let device = Probe()
        let listener = try scene.loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in
            visits += 1
            #expect(echo.flushes == flushes + 1 && echo.output.isEmpty)
            #expect(lastLetter == number)
            return Probe()
        }
        listener.isPaced = true
        scene.others.connect(to: listener.address, tls: (tls.client, "localhost"), session: device)
        for _ in 0..<200 where visits == 0 {
            (number, flushes) = (number + 1, echo.flushes)
            #expect(mailbox.post(number))
            _ = scene.takeTurns()
        }
        #expect(visits == 1)
    }

    @Test("lets in who knocks when everybody else has been answered")
    func knocking() throws {
        let tls = try TestTLS()
        let scene = Scene(loop: try EventLoop(), others: try EventLoop())
        let echo = try scene.loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe.echo() }
        scene.others.connect(to: echo.address, session: scene.steady)
        let listener = try scene.loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in nil }
        listener.isPaced = true
        for _ in 0..<20 where scene.steady.input.isEmpty { _ = scene.takeTurns() }

        var acceptedByEnd: [Int] = []
        scene.loop.turnEnded = { acceptedByEnd.append(listener.counts.accepted) }
        scene.others.connect(to: listener.address, tls: (tls.client, "localhost"), session: Probe())
        for _ in 0..<200 where listener.counts.accepted == 0 {
            acceptedByEnd = []
            #expect(scene.takeTurns())
        }
        #expect(acceptedByEnd.first == 0)
        #expect(listener.counts.accepted == 1)
    }

    @Test("does not have a turn hear again of those who wait")
    func silence() throws {
        let scene = Scene(loop: try EventLoop(), others: try EventLoop())
        let servers = try connect(12, scene)
        for server in servers { #expect(server.reasons.isEmpty) }
        // The ends are all noticed in one turn, and their remaining work is done in the next ones: ten are left.
        for _ in 0..<2 { scene.loop.turnBriefly() }
        #expect(!scene.loop.deferred.isEmpty)
        #expect(scene.loop.watches.poller.wait(milliseconds: 0) == 0)
        for _ in 0..<40 { scene.loop.turnBriefly() }
        #expect(servers.allSatisfy { !$0.reasons.isEmpty })
        #expect(scene.loop.deferred.isEmpty)
    }

    @Test("hears to the end what one that was cut has said before")
    func lastWords() throws {
        let tls = try TestTLS()
        let loop = try EventLoop()
        var server: Probe?
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in
            server = Probe()
            return server
        }
        listener.isPaced = true
        let device = Probe()
        loop.connect(to: listener.address, tls: (tls.client, "localhost"), session: device)
        loop.turn { server?.openings == 1 && device.openings == 1 }
        let said = [UInt8](repeating: 7, count: 300_000)
        device.send(said)
        device.wire?.close(.localClose)
        loop.turn { server?.reasons.isEmpty == false }
        #expect(server?.input == said && server?.inputEnds == 1)
    }

    /// Connects this many devices, and disconnects all of them at once.
    private func connect(_ count: Int, _ scene: Scene) throws -> [Probe] {
        let tls = try TestTLS()
        var servers: [Probe] = []
        let listener = try scene.loop.listen(try SocketAddress("127.0.0.1:0"), tls: tls.server) { _ in
            servers.append(Probe())
            return servers.last
        }
        listener.isPaced = true
        let devices = (0..<count).map { _ in Probe() }
        for device in devices {
            scene.others.connect(to: listener.address, tls: (tls.client, "localhost"), session: device)
        }
        for _ in 0..<400 where servers.count < count {
            scene.others.turnBriefly()
            scene.loop.turnBriefly()
        }
        #expect(servers.count == count)
        for device in devices { device.wire?.abort(.localClose) }
        return servers
    }
}
