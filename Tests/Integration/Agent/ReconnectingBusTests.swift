import Foundation
import PostriderCourier
import PostriderDBus
import PostriderNotifications
import ProgramFixtures
import Testing

@testable import PostriderAgent
@testable import PostriderTransport

@Suite("The agent's line to a bus", .timeLimit(.minutes(10)))
struct ReconnectingBusTests {
    private let hello = BusCall(
        "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
        member: "ListNames")

    @Test("comes when the bus comes, is told when it goes, and comes again")
    func returning() throws {
        let loop = try EventLoop()
        let bus = TestBus()
        // Without jitter, the next attempt follows at once.
        let line = ReconnectingBus(to: bus.address, on: loop, log: .none) { 0 }
        var (opened, lost, answers) = (0, 0, [Bool]())
        line.start { event in
            guard case .opened(let connection) = event else {
                lost += 1
                return
            }
            opened += 1
            #expect(throws: Never.self) {
                try connection.call(hello) { answers.append((try? $0.get()) != nil) }
            }
        }
        #expect(opened == 0 && line.current == nil)
        for round in 1...2 {
            try bus.start()
            while answers.last != true { loop.turn() }
            #expect(opened == round && line.current?.isReady == true)
            bus.stop()
            while lost < round { loop.turn() }
            #expect(line.current == nil)
            answers = []
        }
        line.stop()
    }

    @Test("is let go of: whoever waits is told so, and it does not come again")
    func stopping() throws {
        let loop = try EventLoop()
        let bus = TestBus()
        try bus.start()
        let line = ReconnectingBus(to: bus.address, on: loop, log: .none) { 0 }
        var (opened, answers) = (0, [Bool]())
        line.start { event in
            guard case .opened(let connection) = event else { return }
            opened += 1
            try? connection.call(hello) { answers.append((try? $0.get()) != nil) }
        }
        line.stop()
        #expect(opened == 1 && answers == [false] && line.current == nil)
    }

    @Test(
        "loses no alert that was being shown when it went: the screen does not say that it is not shown"
    )
    func lostAlert() throws {
        let loop = try EventLoop()
        let bus = TestBus()
        try bus.start()
        let line = ReconnectingBus(to: bus.address, on: loop, log: .none) { 0 }
        let screen = DesktopScreen(on: line, log: .none) { _ in }
        screen.start()
        while line.current?.isReady != true { loop.turn() }
        // Another process owns the name and never answers.
        let server = try BusConnection(try #require(bus.address))
        var isOwner = false
        try server.call(
            BusCall(
                hello.destination, path: hello.path, interface: hello.interface, member: "RequestName",
                arguments: [.string("org.freedesktop.Notifications"), .uint32(4)])
        ) { isOwner = (try? $0.get()) != nil }
        while !isOwner { try server.process() }
        let alert = try #require(
            Alert(.remote(.sample(1, identity: 1, payload: #"{"aps":{"alert":"b"}}"#)), of: 1))
        var answers: [UInt32?] = []
        let notification = DesktopNotification(
            alert, .all, category: nil, manifest: nil, capabilities: [])
        screen.show(notification, replacing: 0) { answers.append($0) }
        bus.stop()
        while line.current != nil { loop.turn() }
        #expect(answers.isEmpty)
        screen.stop()
        withExtendedLifetime(server) {}
    }

    @Test("to no bus at all is silent")
    func absence() throws {
        let loop = try EventLoop()
        let line = ReconnectingBus(to: nil, on: loop, log: .none) { 0 }
        line.start { _ in Issue.record("there is no bus") }
        #expect(line.current == nil)
        line.stop()
    }
}

/// A bus at a fixed address that a test starts and stops.
final class TestBus {
    private var daemon: ChildProgram?
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "bus-\(UUID().uuidString.prefix(8))")
    private var socket: String { folder.appending(path: "bus").path }

    private static let configuration = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../bus.conf").standardized.path

    var address: BusAddress? { BusAddress("unix:path=\(socket)") }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the bus and returns when it listens.
    func start() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: socket)
        let daemon = try ChildProgram(
            "/usr/bin/dbus-daemon",
            [
                "--config-file=\(Self.configuration)", "--address=unix:path=\(socket)", "--nofork",
                "--print-address=1",
            ])
        self.daemon = daemon
        _ = daemon.readOutput()
    }

    func stop() {
        daemon?.send(SIGKILL)
        daemon?.waitUntilExit()
    }
}
