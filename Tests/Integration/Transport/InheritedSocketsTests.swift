import Foundation
import PostriderSystem
import Testing

@testable import PostriderTransport

@Suite("Sockets of the service manager")
struct InheritedSocketsTests {
    @Test("are as many as it says, if it says so to this process")
    func names() {
        let own = "\(getpid())"
        #expect(Supervisor.socketNames(in: [:]).isEmpty)
        #expect(Supervisor.socketNames(in: ["LISTEN_PID": "1", "LISTEN_FDS": "2"]).isEmpty)
        #expect(Supervisor.socketNames(in: ["LISTEN_PID": own, "LISTEN_FDS": "x"]).isEmpty)
        #expect(
            Supervisor.socketNames(in: ["LISTEN_PID": own, "LISTEN_FDS": "2"]) == ["unknown", "unknown"])
        #expect(
            Supervisor.socketNames(in: ["LISTEN_PID": own, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a:b"])
                == ["a", "b"])
    }
}
