import PostriderHTTP2
import PostriderJSON
import PostriderTransport

@testable import PostriderWebPush

/// One WebSocket of a browser, which speaks the autopush protocol.
final class SimulatedBrowserSession: ConnectionHandler {
    private unowned let world: World
    let browser: SimulatedBrowser
    private(set) var wire: (any ConnectionOutput)?
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var hasUpgraded = false
    private(set) var isReady = false
    /// The number and the time of the event with the hello.
    private(set) var hello: (event: Int, stamp: Stamp)?
    /// The channels of unanswered requests; answers come in this order.
    private var asked: [(type: String, channel: String)] = []
    /// The messages that have arrived and are not acknowledged, in order.
    private var received: [(channel: String, version: String, number: Int)] = []
    private var versions: Set<String> = []
    /// The times of the latest acknowledgements, by channel: only then the relay sends the next message of a channel.
    private(set) var acknowledged: [String: Stamp] = [:]
    private var openPings = 0

    /// The opcodes of WebSocket frames (RFC 6455, section 5.2).
    private enum Opcode {
        static let text: UInt8 = 1
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    init(_ world: World, _ browser: SimulatedBrowser) {
        self.world = world
        self.browser = browser
    }

    private var findings: Findings { world.findings }
    var isNewest: Bool { browser.session === self }

    /// Whether everything is acknowledged and every request answered.
    var isIdle: Bool { isReady && received.isEmpty && asked.isEmpty && openPings == 0 }

    // MARK: ConnectionHandler

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        send(
            Array(
                ("GET /\(World.enrolmentKey) HTTP/1.1\r\nHost: push.simulated\r\nUpgrade: websocket\r\n"
                    + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Version: 13\r\n\r\n").utf8))
    }

    func received(_ bytes: Span<UInt8>) {
        input.append(copying: bytes)
        if !hasUpgraded, !upgrade() { return }
        while let (opcode, payload) = takeFrame() { take(opcode, payload) }
    }

    func inputEnded() { wire?.close(.peerClosed) }

    func flush(into output: inout [UInt8]) {
        output += self.output
        self.output = []
    }

    func closed(_ reason: CloseReason) {
        wire = nil
        if isNewest { browser.session = nil }
    }

    // MARK: Frames

    private func send(_ bytes: [UInt8]) {
        output += bytes
        wire?.setNeedsFlush()
    }

    /// Takes the answer to the handshake. Returns whether it has arrived.
    private func upgrade() -> Bool {
        let text = String(decoding: input, as: UTF8.self)
        guard let end = Array(input).firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        findings.expect(text.hasPrefix("HTTP/1.1 101 "), .conduct, "a handshake is answered with \(text)")
        input.removeFirst(end.upperBound)
        hasUpgraded = true
        hello = (world.events, world.clock.stamp)
        var members: [String: JSONValue] = ["messageType": .string("hello"), "use_webpush": .boolean(true)]
        members["uaid"] = browser.identity.map { .string($0) }
        say(members)
        return true
    }

    private func takeFrame() -> (opcode: UInt8, payload: [UInt8])? {
        guard input.count >= 2 else { return nil }
        findings.expect(
            input[0] & 0xF0 == 0x80 && input[1] & 0x80 == 0, .conduct, "a frame of the relay is invalid")
        let short = Int(input[1] & 0x7F)
        let start = short == 126 ? 4 : 2
        guard input.count >= start else { return nil }
        let count = short == 126 ? Int(input[2]) << 8 | Int(input[3]) : short
        guard input.count >= start + count else { return nil }
        defer { input.removeFirst(start + count) }
        return (input[0] & 0x0F, Array(input[start..<start + count]))
    }

    private func say(_ opcode: UInt8, _ payload: [UInt8]) {
        let mask: [UInt8] = [1, 2, 3, 4]
        let length =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)]
            : [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        send([0x80 | opcode] + length + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] })
    }

    private func say(_ members: [String: JSONValue]) {
        say(Opcode.text, JSONValue.object(members).bytes ?? [])
    }

    private func take(_ opcode: UInt8, _ payload: [UInt8]) {
        switch opcode {
        case Opcode.text: take(JSONValue.members(ofObject: payload.span) ?? [:])
        case Opcode.ping: say(Opcode.pong, payload)
        case Opcode.pong: openPings -= 1
        case Opcode.close:
            let code = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 0
            let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
            // An older WebSocket whose hello came later is the newest one for the relay.
            let isReplaced = reason == AutopushClose.replaced.reason
            findings.expect(
                code == 1001 || code == 1013 || code == 1008 && (isReplaced || !isReady), .conduct,
                "the relay closes the WebSocket of browser \(browser.index) with \(code), \(reason)")
            if code == 1013 {
                browser.returnsAt = world.clock.milliseconds + Int64(world.chance.number(1...5_000))
            }
            say(Opcode.close, payload)
            wire?.close(.localClose)
        default: findings.note(.conduct, "the relay sends a frame with the opcode \(opcode)")
        }
    }

    // MARK: What the browser does

    func register(_ channel: String) {
        guard world.fault != .browserLingers || !browser.hasEnded(channel) else { return }
        browser.want(channel)
        ask("register", channel)
    }

    func unregister(_ channel: String) {
        browser.giveUp(channel)
        if world.fault == .browserLingers, isReady { return browser.unsubscribed(channel, world.events) }
        ask("unregister", channel)
    }

    private func ask(_ type: String, _ channel: String) {
        guard isReady, asked.count < 10 else { return }
        if type == "register" { browser.asksForSubscription(channel) } else { browser.asksForEnd(channel) }
        asked.append((type, channel))
        say(["messageType": .string(type), "channelID": .string(channel)])
    }

    /// Asks for the subscriptions that the browser wants, and for the end of those that it does not.
    private func repeatRequests() {
        for channel in browser.channels {
            if browser.wanted.contains(channel) {
                ask("register", channel)
            } else if browser.maySubscribe(channel) {
                ask("unregister", channel)
            }
        }
    }

    /// Stores the next messages and acknowledges them.
    func acknowledge(_ count: Int) {
        guard isReady, !received.isEmpty else { return }
        let next = received.prefix(count)
        received.removeFirst(next.count)
        for (channel, _, number) in next {
            acknowledged[channel] = world.clock.stamp
            let forgets = world.fault == .browserForgets && world.chance.once(in: 4)
            if !forgets { browser.keep(number) }
        }
        let updates = next.map { channel, version, _ in
            JSONValue.object(
                ["channelID": .string(channel), "version": .string(version), "code": .integer(100)])
        }
        say(["messageType": .string("ack"), "updates": .array(updates)])
    }

    func ping() {
        guard isReady else { return }
        openPings += 1
        if world.chance.once(in: 2) { say([:]) } else { say(Opcode.ping, [1, 2]) }
    }

    /// Ends the connection, with a close frame or without.
    func leave() {
        if world.chance.once(in: 2) { say(Opcode.close, [3, 232]) }
        wire?.close(.localClose)
    }

    // MARK: What the relay says

    private func take(_ members: [String: JSONValue]) {
        let channel = members["channelID"]?.string ?? ""
        switch members["messageType"]?.string {
        case "hello":
            isReady = true
            // The browser has opened another WebSocket in the meantime.
            guard isNewest else { return leave() }
            browser.greeted(as: members["uaid"]?.string ?? "")
            repeatRequests()
        case "register":
            answered("register", channel)
            let status = members["status"]?.wholeNumber
            findings.expect(
                status == 200 || status == 503, .answers, "a register is answered with \(members)")
            if status == 200, isNewest {
                let isEnding = asked.contains { $0.type == "unregister" && $0.channel == channel }
                browser.subscribed(
                    channel, at: members["pushEndpoint"]?.string ?? "", isEnding: isEnding)
            }
        case "unregister":
            answered("unregister", channel)
            if isNewest { browser.unsubscribed(channel, world.events) }
        case "notification": notified(channel, members)
        case nil where members.isEmpty: openPings -= 1
        default: findings.note(.conduct, "the relay sends \(members)")
        }
    }

    private func answered(_ type: String, _ channel: String) {
        findings.expect(
            asked.first.map { $0.type == type && $0.channel == channel } ?? false, .conduct,
            "the \(type) of \(channel) is answered out of its turn")
        if !asked.isEmpty { asked.removeFirst() }
    }

    private func notified(_ channel: String, _ members: [String: JSONValue]) {
        guard let version = members["version"]?.string, let data = members["data"]?.string,
            let bytes = Base64URL.bytes(data), let number = pushNumber(in: bytes)
        else { return findings.note(.conduct, "a message without content is delivered") }
        findings.expect(
            versions.insert(version).inserted, .repetition, "\(version) is delivered twice on one WebSocket")
        findings.expect(
            !received.contains { $0.channel == channel }, .conduct,
            "a message of \(channel) comes before the one before it is acknowledged")
        let message = number - SimulatedMessage.firstNumber
        received.append((channel, version, message))
        world.delivered(message, bytes, on: channel, to: self)
    }
}
