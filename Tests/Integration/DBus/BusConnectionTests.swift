import Foundation
import ProgramFixtures
import Testing

@testable import PostriderDBus

@Suite("A connection to a bus", .timeLimit(.minutes(10)))
struct BusConnectionTests {
    private let bus: PrivateBus

    init() throws {
        bus = try PrivateBus()
        BusService.start(on: bus)
    }

    private func call(_ member: String, _ arguments: [BusValue] = []) -> BusCall {
        BusCall(
            BusService.name, path: BusService.path, interface: BusService.interface, member: member,
            arguments: arguments)
    }

    private static let values: [BusValue] = [
        .boolean(true), .boolean(false), .byte(255), .int16(-2), .uint16(65_535), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(-0.5), .string(""), .string("Grüße 🐎\n"), .objectPath("/a/b"),
        .signature("a{sv}"), .strings([]), .strings(["a", "b"]), .array(of: "y", [.byte(1), .byte(2)]),
        .named([]), .named([("urgency", .byte(2)), ("desktop-entry", .string("app"))]),
        .structure([.int32(1), .string("x"), .array(of: "(s)", [.structure([.string("deep")])])]),
        .variant(.variant(.strings(["nested"]))),
        .array(of: "{ua{sv}}", [.entry(.uint32(1), .named([("k", .variant(.double(1)))]))]),
    ]

    @Test("brings a value of every type there and back", arguments: values.indices)
    func types(_ index: Int) throws {
        let connection = try BusConnection(bus.address)
        let value = Self.values[index]
        let answer = try connection.answer(to: call("Echo", [value, .string("and"), value])).get()
        #expect(answer.values == [value, .string("and"), value])
        #expect(answer.sender.hasPrefix(":"))
    }

    @Test("brings text that libsystemd refuses with U+FFFD in its place, wherever it stands", .bug(id: "A7"))
    func replacement() throws {
        let connection = try BusConnection(bus.address)
        let scalars: [UInt32] = [0x61, 0xFFFF, 0x62, 0xFFFE, 0xFDD0, 0xFDEF, 0x10_FFFF, 0]
        let refused = String(String.UnicodeScalarView(scalars.compactMap(Unicode.Scalar.init)))
        let carried = "a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"
        // The neighbours of the noncharacters are valid characters.
        let kept = "\u{FFFD}\u{FDCF}\u{FDF0}\u{10FFFD}\u{E000}"
        func values(_ text: String) -> [BusValue] {
            [
                .string(text), .strings([text, kept]), .named([(text, .string(text))]),
                .structure([.variant(.string(text))]),
            ]
        }
        let answer = try connection.answer(to: call("Echo", values(refused))).get()
        #expect(answer.values == values(carried))
        #expect(BusValue.carried(kept) == kept)
    }

    @Test("says what a value is to whoever asks, and nil to whoever asks for something else")
    func accessors() {
        #expect(BusValue.string("a").text == "a" && BusValue.uint32(1).text == nil)
        #expect(BusValue.uint32(7).integer == 7 && BusValue.string("7").integer == nil)
        #expect(BusValue.uint64(.max).integer == nil && BusValue.boolean(true).isTrue == true)
        #expect(BusValue.strings(["a"]).texts == ["a"] && BusValue.array(of: "u", []).texts == nil)
        #expect(BusValue.named([("a", .byte(1))]).namedValues == ["a": .byte(1)])
        #expect(BusValue.strings([]).namedValues == nil)
    }

    @Test("brings an error under its name, and tells apart that nobody is there")
    func errors() throws {
        let connection = try BusConnection(bus.address)
        let refusal = BusError.refused(name: "house.postrider.Error.Asked", message: "as you wish")
        #expect(connection.answer(to: call("Fail")) == .failure(refusal))
        #expect(!refusal.isAbsence)
        var stranger = call("Echo")
        stranger.destination = "house.postrider.Nobody"
        let answer = connection.answer(to: stranger)
        #expect(throws: BusError.self) { try answer.get() }
        if case .failure(let error) = answer { #expect(error.isAbsence, "\(error)") }
    }

    @Test("does not wait for an answer longer than it is to")
    func patience() throws {
        let connection = try BusConnection(bus.address)
        #expect(connection.answer(to: call("Silence"), timeoutMilliseconds: 1) == .failure(.timedOut))
        // The connection stays open.
        #expect(try connection.answer(to: call("Echo")).get().values == [])
    }

    @Test("answers in the order in which it was asked, whatever was asked before it was let in")
    func order() throws {
        let connection = try BusConnection(bus.address)
        var answers: [BusValue] = []
        for number: Int32 in 0..<100 {
            try connection.call(call("Echo", [.int32(number)])) { answers += (try? $0.get().values) ?? [] }
        }
        try connection.run { answers.count == 100 }
        #expect(answers == (0..<100).map(BusValue.int32))
        #expect(connection.isReady)
    }

    @Test("owns a descriptor that it is given, until nobody holds it any more")
    func descriptors() throws {
        let connection = try BusConnection(bus.address)
        var answer: BusReply? = try connection.answer(to: call("Pipe")).get()
        #expect(answer?.values.map(\.signature) == ["h"])
        #expect(try connection.answer(to: call("IsEnded")).get().values == [.boolean(false)])
        #expect(answer != nil)
        answer = nil
        #expect(try connection.answer(to: call("IsEnded")).get().values == [.boolean(true)])
    }

    @Test("hears the signals that it wants, and no others")
    func signals() throws {
        let connection = try BusConnection(bus.address)
        var heard: [BusSignal] = []
        try connection.listen(to: BusMatch(sender: BusService.name, member: "Heard")) { heard.append($0) }
        try connection.listen(to: BusMatch(interface: "house.postrider.Other")) { heard.append($0) }
        try connection.listen(to: BusMatch(member: "Heard", firstArgument: "hu")) { heard.append($0) }
        let answer = try connection.answer(to: call("Shout", [.string("ho")])).get()
        try connection.run { !heard.isEmpty }
        #expect(
            heard == [
                BusSignal(
                    sender: answer.sender, path: BusService.path, interface: BusService.interface,
                    member: "Heard", arguments: [.string("ho")])
            ])
    }

    @Test("can tell by the sender that a signal is not from the one whose name it was wanted from")
    func spoofing() throws {
        let connection = try BusConnection(bus.address)
        var heard: [BusSignal] = []
        try connection.listen(to: BusMatch(sender: "org.freedesktop.Notifications")) { heard.append($0) }
        // Nobody on the bus has that name, and the signal arrives nevertheless.
        let answer = try connection.answer(to: call("Whisper")).get()
        try connection.run { !heard.isEmpty }
        #expect(heard.map(\.sender) == [answer.sender])
    }

    @Test("tells signals to others")
    func emission() throws {
        let (speaker, listener) = (try BusConnection(bus.address), try BusConnection(bus.address))
        var heard: [BusSignal] = []
        try listener.listen(to: BusMatch(interface: "house.postrider.News")) { heard.append($0) }
        // The bus has processed the match rule when it answers a later call.
        _ = try listener.answer(to: call("Echo")).get()
        let signal = BusSignal(
            path: "/", interface: "house.postrider.News", member: "Told",
            arguments: [.string("x"), .named([("count", .int64(3))])])
        try speaker.emit(signal)
        _ = try speaker.answer(to: call("Echo")).get()
        try listener.run { !heard.isEmpty }
        #expect(heard.map(\.arguments) == [signal.arguments] && heard[0].sender.hasPrefix(":"))
    }

    @Test(
        "tells of a signal that libsystemd cannot read: who sent which, and what stands in front",
        .bug(id: "A7"))
    func unreadable() throws {
        let connection = try BusConnection(bus.address)
        var (heard, failed) = ([BusSignal](), [(signal: BusSignal, error: BusError)]())
        try connection.listen(
            to: BusMatch(interface: "house.postrider.News"), { heard.append($0) },
            unreadable: { failed.append(($0, $1)) })
        _ = try connection.answer(to: call("Echo")).get()
        // libdbus sends what libsystemd refuses to send.
        let (exitCode, said) = try ChildProgram.run(
            "/usr/bin/dbus-send",
            [
                "--bus=\(bus.address)", "--type=signal", "/", "house.postrider.News.Told", "uint32:7",
                "string:a\u{FFFF}", "string:b",
            ])
        #expect(exitCode == 0, "\(said)")
        try connection.run { !failed.isEmpty }
        #expect(heard.isEmpty && failed.first?.signal.arguments == [.uint32(7)])
        #expect(failed.first?.signal.member == "Told" && failed.first?.signal.sender.hasPrefix(":") == true)
    }

    @Test("that is lost tells whoever waits, and stays lost")
    func loss() throws {
        let connection = try BusConnection(bus.address)
        _ = try connection.answer(to: call("Echo")).get()
        var answers: [Result<BusReply, BusError>] = []
        try connection.call(call("Silence")) { answers.append($0) }
        bus.stop()
        #expect(throws: BusError.lost) { try connection.run { false } }
        #expect(answers == [.failure(.lost)])
        #expect(throws: BusError.lost) { try connection.call(call("Echo")) { answers.append($0) } }
        #expect(throws: BusError.lost) { try connection.process() }
        #expect(answers.count == 1 && connection.interest == [] && connection.deadline == nil)
    }

    @Test("that is closed tells whoever waits, and nobody afterwards, even if one of them closes it")
    func closing() throws {
        let connection = try BusConnection(bus.address)
        var answers: [Result<BusReply, BusError>] = []
        try connection.call(call("Echo")) { answer in
            answers.append(answer)
            connection.close()
        }
        try connection.call(call("Silence")) { answers.append($0) }
        while answers.isEmpty { try connection.step() }
        #expect(answers.count == 2 && answers.last == .failure(.lost))
        #expect(throws: BusError.lost) { try connection.process() }
    }

    @Test("refuses what cannot be said")
    func nonsense() throws {
        let connection = try BusConnection(bus.address)
        var badPath = call("Echo")
        badPath.path = "nowhere"
        let calls = [
            badPath, call("Echo", [.objectPath("/a\0b")]), call("Echo", [.objectPath("a")]),
            call("no method"),
            call("Echo", [.array(of: "?", [])]), call("Echo", [.array(of: "s", [.int32(1)])]),
        ]
        for call in calls {
            #expect(throws: BusError.self, "\(call)") { try connection.call(call) { _ in } }
        }
        #expect(throws: BusError.self) { try connection.listen(to: BusMatch(path: "/'")) { _ in } }
        #expect(try connection.answer(to: call("Echo", [.string("a")])).get().values == [.string("a")])
    }

    @Test("takes no message that is too large, and goes on")
    func bound() throws {
        let connection = try BusConnection(bus.address, mostValues: 4)
        let strings = BusValue.strings(["a", "b", "c"])
        #expect(try connection.answer(to: call("Echo", [strings])).get().values == [strings])
        #expect(connection.answer(to: call("Echo", [.strings(["a", "b", "c", "d"])])) == .failure(.tooLarge))
        #expect(try connection.answer(to: call("Echo")).get().values == [])
    }

    @Test("says so when more is said than it can hold")
    func overload() throws {
        let connection = try BusConnection(bus.address)
        #expect(throws: BusError.overloaded) {
            for _ in 0..<10_000 { try connection.call(call("Silence")) { _ in } }
        }
        let signal = BusSignal(path: "/", interface: "house.postrider.News", member: "Told")
        #expect(throws: BusError.overloaded) {
            for _ in 0..<10_000 { try connection.emit(signal) }
        }
    }

    @Test("does not come about where there is no bus, or another service listens")
    func absence() throws {
        let nowhere = try #require(BusAddress("unix:path=/nowhere/bus"))
        #expect(throws: BusError.self) { try BusConnection(nowhere) }
        // A listener that closes every connection.
        let socket = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: socket) }
        let listener = try RudeListener(path: socket.path)
        let connection = try BusConnection(try #require(BusAddress("unix:path=\(socket.path)")))
        var answers: [Result<BusReply, BusError>] = []
        try connection.call(call("Echo")) { answers.append($0) }
        listener.hangUp()
        #expect(throws: BusError.unreachable("the bus did not let us in")) { try connection.run { false } }
        #expect(answers == [.failure(.lost)])
    }
}
