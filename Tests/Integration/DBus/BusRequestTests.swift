import Foundation
import Testing

@testable import PostriderDBus

@Suite("An object on a bus", .timeLimit(.minutes(10)))
struct BusRequestTests {
    private static let name = "house.postrider.Server"
    private static let path = "/house/postrider/Object"

    private let bus: PrivateBus

    init() throws { bus = try PrivateBus() }

    private func call(_ member: String, _ arguments: [BusValue] = []) -> BusCall {
        BusCall(
            Self.name, path: Self.path, interface: "house.postrider.Test", member: member,
            arguments: arguments)
    }

    /// A connection that owns the name and serves the object.
    private func server(
        mostValues: Int = 4096, _ receive: @escaping (BusRequest) -> Void
    ) throws -> BusConnection {
        let connection = try BusConnection(bus.address, mostValues: mostValues)
        try connection.serve(Self.path, receive)
        let claim = BusCall(
            "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            member: "RequestName", arguments: [.string(Self.name), .uint32(0)])
        #expect(try connection.answer(to: claim).get().values == [.uint32(1)])
        return connection
    }

    private func run(_ connections: BusConnection..., until isSo: () -> Bool) throws {
        while !isSo() { for connection in connections { try connection.process() } }
    }

    @Test("takes calls with their arguments and answers them, now or later, with values or an error")
    func answers() throws {
        var requests: [BusRequest] = []
        let server = try server { requests.append($0) }
        let client = try BusConnection(bus.address)
        var answers: [Result<BusReply, BusError>] = []
        let arguments: [BusValue] = [.string("a"), .named([("k", .array(of: "y", [.byte(0), .byte(255)]))])]
        try client.call(call("First", arguments)) { answers.append($0) }
        try client.call(call("Second")) { answers.append($0) }
        try run(server, client) { requests.count == 2 }
        #expect(requests.map(\.member) == ["First", "Second"] && requests[0].arguments == arguments)
        #expect(requests[0].interface == "house.postrider.Test" && requests[0].sender.hasPrefix(":"))
        try server.answer(
            requests[1], with: .error(name: "house.postrider.Error.No", message: "not\u{FFFF}now"))
        try run(server, client) { answers.count == 1 }
        #expect(answers == [.failure(.refused(name: "house.postrider.Error.No", message: "not\u{FFFD}now"))])
        try server.answer(requests[0], with: .values([.named([])]))
        try run(server, client) { answers.count == 2 }
        #expect(try answers[1].get().values == [.named([])])
    }

    @Test("answers nobody who wants no answer")
    func silence() throws {
        var requests: [BusRequest] = []
        let server = try server { requests.append($0) }
        let client = try BusConnection(bus.address)
        try client.tell(call("Told", [.string("x")]))
        try run(server, client) { requests.count == 1 }
        try server.answer(requests[0], with: .values([.string("y")]))
        var answers: [Result<BusReply, BusError>] = []
        try client.call(call("Asked")) { answers.append($0) }
        try run(server, client) { requests.count == 2 }
        try server.answer(requests[1], with: .values([]))
        try run(server, client) { !answers.isEmpty }
        #expect(try answers.map { try $0.get().values } == [[]])
    }

    @Test("tells that a call has more values than are accepted, and stays")
    func tooLarge() throws {
        var requests: [BusRequest] = []
        let server = try server(mostValues: 2) { requests.append($0) }
        let client = try BusConnection(bus.address)
        try client.tell(call("Much", [.uint32(1), .uint32(2), .uint32(3)]))
        try client.tell(call("Little", [.uint32(1)]))
        try run(server, client) { requests.count == 2 }
        #expect(requests[0].arguments == nil && requests[1].arguments == [.uint32(1)])
    }
}
