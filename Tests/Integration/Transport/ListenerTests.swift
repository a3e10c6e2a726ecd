import Glibc
import Testing

@testable import PostriderTransport

@Suite struct ListenerTests {
    @Test(
        "A connection that nobody accepts is refused, and never before connect returns",
        arguments: Family.allCases)
    func refused(family: Family) throws {
        let path = TemporaryPath()
        let loop = try EventLoop()
        let address: SocketAddress
        // A bound socket that does not listen keeps other tests from using its port.
        let bound = try Socket.make(family == .ipv6 ? AF_INET6 : AF_INET)
        switch family {
        case .unix: address = try path.address
        case .ipv4, .ipv6:
            try Socket.bind(bound.number, to: try SocketAddress(family == .ipv4 ? "127.0.0.1:0" : "[::1]:0"))
            address = try #require(Socket.localAddress(bound.number))
        }
        let probe = Probe()
        loop.connect(to: address, session: probe)
        #expect(probe.reasons.isEmpty)
        loop.turn { !probe.reasons.isEmpty }
        guard case .refused = probe.reasons.first else {
            Issue.record("\(probe.reasons)")
            return
        }
        #expect(probe.openings == 0)
        #expect(loop.connectionCount == 0)
    }

    @Test("A connect that nobody answers ends after its timeout")
    func connectTimeout() throws {
        // The backlog is full, so the kernel drops further SYNs.
        let listener = try Socket.make(AF_INET)
        try Socket.bind(listener.number, to: try SocketAddress("127.0.0.1:0"))
        _ = Glibc.listen(listener.number, 0)
        let address = try #require(Socket.localAddress(listener.number))
        let loop = try EventLoop()
        let probes = (0..<8).map { _ in Probe() }
        for probe in probes { loop.connect(to: address, timeoutMilliseconds: 50, session: probe) }
        loop.turn { probes.contains { !$0.reasons.isEmpty } }
        #expect(probes.flatMap(\.reasons).allSatisfy { $0 == .connectTimeout })
    }

    @Test("A port in use is an error that names the address and says what to do")
    func portInUse() throws {
        let loop = try EventLoop()
        let first = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in nil }
        for use in [PortUse.exclusive, .shared] {
            let error = #expect(throws: TransportError.self) {
                try loop.listen(first.address, port: use) { _ in nil }
            }
            #expect(
                error?.description
                    == "Cannot listen on \(first.address): something else listens there; "
                    + "stop it, or choose another address.")
        }
    }

    @Test("Two loops share a port, and when one leaves the other has it all")
    func sharedPort() throws {
        let (first, second) = (try EventLoop(), try EventLoop())
        var opened = (first: 0, second: 0)
        let listener = try first.listen(try SocketAddress("127.0.0.1:0"), port: .shared) { _ in
            opened.first += 1
            return Probe()
        }
        let other = try second.listen(listener.address, port: .shared) { _ in
            opened.second += 1
            return Probe()
        }
        #expect(throws: TransportError.self) { try Listener.requireFree(listener.address) }
        other.close()
        let probe = Probe()
        first.connect(to: listener.address, session: probe)
        first.turn { opened.first == 1 }
        #expect(opened.second == 0)
        listener.close()
        try Listener.requireFree(listener.address)
    }

    @Test("The socket's file has the mode that was asked for, and goes with the listener")
    func unixFile() throws {
        let path = TemporaryPath()
        let loop = try EventLoop()
        for mode in [0o600, 0o660, 0o666] as [UInt32] {
            let listener = try loop.listen(try path.address, mode: mode) { _ in nil }
            var status = stat()
            #expect(unsafe lstat(path.path, &status) == 0)
            #expect(status.st_mode & 0o777 == mode)
            listener.close()
            #expect(unsafe lstat(path.path, &status) != 0)
        }
    }

    @Test("A stale socket file is replaced; a live one, or another kind of file, is not")
    func staleFile() throws {
        let path = TemporaryPath()
        let loop = try EventLoop()
        do {
            let abandoned = try Socket.make(AF_UNIX)
            try Socket.bind(abandoned.number, to: try path.address)
            try Socket.listen(abandoned.number)
        }
        let listener = try loop.listen(try path.address) { _ in nil }
        #expect(throws: TransportError.self) { try loop.listen(try path.address) { _ in nil } }
        listener.close()
        let file = unsafe open(path.path, O_CREAT | O_WRONLY, 0o600)
        close(file)
        let error = #expect(throws: TransportError.self) { try loop.listen(try path.address) { _ in nil } }
        #expect(
            error?.description
                == "Cannot listen on unix:\(path.path): a file that is no socket is there; remove it, or "
                + "choose another path.")
        #expect(unsafe access(path.path, F_OK) == 0)
    }

    @Test("When descriptors run short, connections are refused cleanly and the listener goes on")
    func exhaustion() throws {
        let loop = try EventLoop()
        var limits = ConnectionLimits.server
        limits.descriptorReserve = Descriptors.limit
        let full = try loop.listen(try SocketAddress("127.0.0.1:0"), limits: limits) { _ in Probe() }
        let probes = (0..<3).map { _ in Probe() }
        for probe in probes { loop.connect(to: full.address, session: probe) }
        loop.turn { probes.allSatisfy { $0.reasons.count == 1 } }
        #expect(full.counts.refused == 3)
        #expect(full.counts.accepted == 0)
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe.echo() }
        let probe = Probe()
        loop.connect(to: listener.address, session: probe)
        loop.turn { probe.openings == 1 }
    }

    @Test(
        "Where no descriptor is left a listener rests, and lets in who waits when there is one again",
        arguments: [false, true])
    func rest(isPaced: Bool) async {
        await #expect(processExitsWith: .success) { [isPaced = isPaced as Bool] in
            let loop = try EventLoop()
            var limits = ConnectionLimits.server
            limits.descriptorReserve = 0
            let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), limits: limits) { _ in Probe() }
            listener.isPaced = isPaced
            let probe = Probe()
            loop.connect(to: listener.address, session: probe)
            loop.turn { probe.openings == 1 && listener.counts.accepted == 1 }

            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            unsafe _ = getrlimit(resource, &limit)
            let late = Probe()
            loop.connect(to: listener.address, session: late)
            // No descriptor may be opened, whatever another thread of the test process closes meanwhile.
            var tight = limit
            tight.rlim_cur = 0
            unsafe _ = setrlimit(resource, &tight)
            loop.turn { late.openings == 1 }
            loop.turnAFewTimes()
            #expect(listener.counts.accepted == 1 && listener.counts.refused == 0)

            unsafe _ = setrlimit(resource, &limit)
            loop.turn { listener.counts.accepted == 2 }
            #expect(late.reasons.isEmpty)
        }
    }

    @Test("A listener that rests can be closed", arguments: [false, true])
    func closedAtRest(isPaced: Bool) async {
        await #expect(processExitsWith: .success) { [isPaced = isPaced as Bool] in
            let loop = try EventLoop()
            let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in Probe() }
            listener.isPaced = isPaced
            let probe = Probe()
            loop.connect(to: listener.address, session: probe)
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            unsafe _ = getrlimit(resource, &limit)
            // No descriptor may be opened, whatever another thread of the test process closes meanwhile.
            limit.rlim_cur = 0
            unsafe _ = setrlimit(resource, &limit)
            loop.turn { probe.openings == 1 }
            loop.turnAFewTimes()
            listener.close()
            loop.turn { !probe.reasons.isEmpty }
            loop.turnAFewTimes()
            #expect(listener.counts.accepted == 0)
        }
    }

    @Test("A listener that makes no session refuses the connection")
    func noSession() throws {
        let loop = try EventLoop()
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0")) { _ in nil }
        let probe = Probe()
        loop.connect(to: listener.address, session: probe)
        loop.turn { !probe.reasons.isEmpty }
        #expect(listener.counts.failed == 1)
        #expect(loop.connectionCount == 0)
    }
}
