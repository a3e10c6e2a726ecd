import Foundation
import PostriderNotifications
import Testing

@testable import postrider

@Suite("Lines of the log")
struct ServiceLogTests {
    @Test("go to the journal only if stderr is still the socket that systemd made")
    func journal() {
        #expect(ServiceLog.isJournal(stream: "8:12345", target: "socket:[12345]"))
        #expect(!ServiceLog.isJournal(stream: "8:12345", target: "socket:[1234]"))
        #expect(!ServiceLog.isJournal(stream: "8:12345", target: "/dev/null"))
        #expect(!ServiceLog.isJournal(stream: nil, target: "socket:[12345]"))
        #expect(!ServiceLog.isJournal(stream: "", target: nil))
    }

    @Test("carry the severity as a number for the journal, and in words with the time for people")
    func forms() {
        #expect(ServiceLog.journalLine(.warning, "one\ntwo") == "<4>one\n<4>two")
        #expect(
            ServiceLog.line(.error, "one", at: Date(timeIntervalSince1970: 0))
                == "1970-01-01T00:00:00Z error: one")
    }
}
