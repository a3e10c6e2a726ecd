import Foundation
import Glibc
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import Synchronization
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The audit")
struct AuditTests {
    /// Runs a relay with an audit in a folder of its own, and returns what it has recorded.
    private func audited(_ body: (ControlClient) async throws -> Void) async throws -> [AuditCommand.Line] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "audit-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let audit = try AuditLog(dataDirectory: folder, log: .none)
        try await ControlTests.withRelay(audit: audit.record) { client, _ in try await body(client) }
        audit.end()
        let (lines, lost, unread) = try AuditCommand.read(folder + "/" + AuditLog.fileName, since: nil)
        #expect(lost == 0 && unread == 0)
        return lines
    }

    @Test("has who changed what, when and with which outcome, in order; nothing of who only looks")
    func changes() async throws {
        let lines = try await audited { client in
            #expect(await ControlTests.run(["topics", "list"], on: client) == 0)
            #expect(
                await ControlTests.run(["topics", "add", "com.example.one", "--team-id", "T"], on: client)
                    == 0)
            #expect(await ControlTests.run(["topics", "remove", "com.example.two"], on: client) == 1)
            #expect(await ControlTests.run(["status"], on: client) == 0)
        }
        let records = lines.map(\.record)
        #expect(records.map(\.action) == ["topics add", "topics remove"])
        #expect(records.map(\.object) == ["com.example.one", "com.example.two"])
        #expect(records.map(\.outcome) == [.done, .refused])
        #expect(records[0].details?["team"] == "T" && records[0].reason == nil)
        #expect(records[1].reason == "There is no topic com.example.two.")
        #expect(records.allSatisfy { $0.uid == geteuid() && $0.pid == getpid() && $0.user != nil })
    }

    @Test("has no secret: neither a key that was made, nor one that was added, nor one in a wrong place")
    func secrets() async throws {
        let made = Mutex("")
        let lines = try await audited { client in
            let (key, _) = try await client.list("/v1/topics", of: [Control.Topic].self)
            #expect(key.isEmpty)
            let answer = try await client.request("PUT", "/v1/enrolment-keys/lab")
            let new = try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
            made.withLock { $0 = new.key }
            await #expect(throws: CommandFailure.self) {
                try await client.request("DELETE", "/v1/enrolment-keys/\(new.key)")
            }
        }
        #expect(lines.map(\.record.action) == ["enrolment-keys add", "enrolment-keys remove"])
        let secret = made.withLock { $0 }.dropFirst("enrol-".count)
        #expect(!secret.isEmpty && !lines.contains { $0.text.contains(secret) })
    }

    @Test("that cannot be written stops no change; the log has the whole of it instead")
    func full() async throws {
        let lines = Mutex<[Log.Line]>([])
        let audit = try AuditLog(
            dataDirectory: "/nowhere/at/all",
            log: Log { (line: Log.Line) in lines.withLock { $0.append(line) } })
        try await ControlTests.withRelay(audit: audit.record) { client, _ in
            #expect(
                await ControlTests.run(["topics", "add", "com.example.one", "--team-id", "T"], on: client)
                    == 0)
            let (topics, _) = try await client.list("/v1/topics", of: [Control.Topic].self)
            #expect(topics.map(\.topic) == ["com.example.one"])
        }
        audit.end()
        let told = lines.withLock { $0 }
        #expect(told.count == 1 && told.first?.level == .error)
        let sentence = "a change by an operator is not in the audit: The file /nowhere/at/all/audit.jsonl"
        #expect(told.first?.text.hasPrefix(sentence) == true)
        #expect(told.first?.text.contains(#""action":"topics add""#) == true)
    }

    @Test("is read from all of its files, from a time on; a line that is no change is counted")
    func read() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "audit-\(UUID().uuidString)").path
        defer { for suffix in ["", ".1"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        func line(_ time: String) -> String { #"{"action":"keys add","outcome":"done","time":"\#(time)"}"# }
        let old = [line("2026-11-20T00:00:00.000Z"), "cut off", #"{"lost":3}"#]
        try old.joined(separator: "\n").write(toFile: path + ".1", atomically: true, encoding: .utf8)
        let new = line("2026-11-21T00:00:00.000Z") + "\n"
        try new.write(toFile: path, atomically: true, encoding: .utf8)
        let all = try AuditCommand.read(path, since: nil)
        #expect(all.lines.map(\.record.time) == ["2026-11-20T00:00:00.000Z", "2026-11-21T00:00:00.000Z"])
        #expect(all.lost == 3 && all.unread == 1)
        #expect(try AuditCommand.read(path, since: "2026-11-20T00:00:00.001Z").lines.count == 1)
    }

    @Test("is shown from a time that is an age, a day or a moment; other words are refused")
    func since() throws {
        let options = try AuditCommand.table.parse([])
        let now = Date(timeIntervalSince1970: 86_400)
        func time(_ text: String) throws -> String { try AuditCommand.time(text, options, now: now) }
        #expect(try time("2h") == "1970-01-01T22:00:00.000Z")
        #expect(try time("2026-11-21") == "2026-11-21T00:00:00.000Z")
        #expect(try time("2026-11-21T09:00:00Z") == "2026-11-21T09:00:00.000Z")
        for text in ["", "yesterday", "2026-13-01", "-2h"] {
            #expect(throws: UsageError.self) { try time(text) }
        }
    }

    @Test("names the user who has become another one")
    func table() throws {
        let change = """
            {"action":"keys add","loginUid":1000,"outcome":"done","pid":1,"time":"T","uid":0,"user":"root"}
            """
        let record = try JSONDecoder().decode(AuditRecord.self, from: Data(change.utf8))
        let text = AuditCommand.describe([record], name: { "jo\($0)" })
        #expect(text.contains("root (signed in as jo1000)"))
        #expect(AuditCommand.describe([]) == "No operator has changed anything in that time.")
    }
}
