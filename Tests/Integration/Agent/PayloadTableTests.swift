import Foundation
import PostriderCourier
import PostriderJSON
import PostriderKit
import PostriderNotifications
import Testing

@testable import PostriderAgent

/// A payload and the values that every reader must find in it. The rows are in a file, so that the Python example is
/// tested with the same ones (PythonAppTests).
struct PayloadRow: Decodable, CustomTestStringConvertible, Sendable {
    private let name: String
    private let payload: String?
    /// The payload in hexadecimal digits if it is not UTF-8.
    private let hex: String?
    /// The value as JSON with its members in order; nil if the payload is refused.
    let value: String?
    /// The text of its alert; nil if it has none.
    let alert: String?

    var testDescription: String { name }

    var bytes: [UInt8] {
        let digits = Array((hex ?? "").utf8)
        return payload.map { Array($0.utf8) }
            ?? stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
            }
    }

    static let all: [PayloadRow] = {
        let file = URL(filePath: #filePath).appending(path: "../../../Unit/PostriderJSON/payloads.json")
            .standardized
        do {
            return try JSONDecoder().decode([PayloadRow].self, from: Data(contentsOf: file))
        } catch {
            preconditionFailure("\(file.path): \(error)")
        }
    }()
}

@Suite("A payload", .timeLimit(.minutes(10)))
struct PayloadTableTests {
    @Test(
        "has the same values for the relay, the kit and the agent", .bug(id: "R5"), arguments: PayloadRow.all)
    func values(_ row: PayloadRow) throws {
        let bytes = row.bytes
        // The relay's check of the payload.
        #expect(JSONSyntax.isObject(bytes.span) == (row.value != nil))
        // The kit's reading.
        let userInfo = try? UserInfo(json: bytes)
        #expect(userInfo?.json.map { String(decoding: $0, as: UTF8.self) } == row.value)
        // The agent's reading.
        #expect(Alert.content(of: bytes).0.body == row.alert ?? "")
        // What the kit writes has the same value when it is read again.
        if let userInfo, let json = userInfo.json { #expect(try UserInfo(json: json) == userInfo) }
    }

    @Test("keeps 64-bit integers as such in the kit, and others as what they are", .bug(id: "R5"))
    func types() throws {
        let text =
            #"{"a":9223372036854775807,"b":18446744073709551615,"c":-9223372036854775808,"#
            + #""d":1E2,"e":1e400,"f":-0}"#
        let expected: UserInfo = [
            "a": .integer(.max), "b": .unsigned(.max), "c": .integer(.min), "d": .double(100),
            "e": .string("1e400"), "f": .integer(0),
        ]
        #expect(try UserInfo(json: text.utf8) == expected)
    }

    @Test("that cannot be read reaches no observer: it has failed, and is a dead letter", .bug(id: "R5"))
    func unreadable() async throws {
        let scratch = Scratch()
        let topic = "com.example.one"
        let dispatcher = NotificationDispatcher()
        let application = Application(topic: topic, socketPath: scratch.socket, dispatcher: dispatcher)
        let journal = Journal<UserInfo>()
        let bytes = Journal<[UInt8]>()
        let observation = dispatcher.addObserver(named: .remoteNotificationDidArrive, sender: application) {
            bytes.note($0.payload ?? [])
            journal.note($0.userInfo)
        }
        let agent = try AgentFixture(scratch)
        async let token = application.registerForRemoteNotifications()
        while await agent.on({ $0.link.asked.isEmpty }) { await Task.yield() }
        await agent.on {
            $0.deliveries.mostAttempts = 1
            $0.registrations.registered(Registered(topic: "com.example.one", deviceToken: .sample(1)))
        }
        _ = try await token
        let payloads = [#"{"n":"#, "", "[1]", #"{"n":1}"#]
        for (number, payload) in zip(1..., payloads) {
            await agent.deliver(.sample(UInt64(number), identity: UInt64(number), payload: payload))
        }
        #expect(await journal.first(1) == [["n": 1]])
        await application.end()
        withExtendedLifetime(observation) {}
        await agent.kill()
        #expect(journal.events.count == 1 && bytes.events == [Array(#"{"n":1}"#.utf8)])
        let state = try AgentState(directory: scratch.state, log: .none)
        let letters = try state.deadLetters.entries()
        #expect(letters.map(\.parcel.identity.low) == [1, 2, 3])
        let error = #expect(throws: UserInfoError.self) { try UserInfo(json: []) }
        #expect(letters.allSatisfy { $0.reason == error?.description })
    }
}
