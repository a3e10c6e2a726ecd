import Glibc
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("Signals")
struct SignalsTests {
    @Test("are events of a loop")
    func signals() throws {
        Signals.block([SIGUSR2])
        let loop = try EventLoop()
        var heard: [Int32] = []
        try loop.onSignal([SIGUSR2]) { heard.append($0) }
        pthread_kill(pthread_self(), SIGUSR2)
        while heard.isEmpty { loop.turn() }
        #expect(heard == [SIGUSR2])
    }
}
