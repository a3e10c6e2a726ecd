import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// A provider's connection: a real HTTP/2 client that knows the possible answers.
final class SimulatedProvider: EndpointOwner {
    private(set) lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    private unowned let world: World
    let number: Int
    /// The environment of the port that it is connected to.
    let environment: PostriderNotifications.Environment
    private var open: [Int32: Int] = [:]
    private var statuses: [Int32: (status: Int, identity: String?)] = [:]
    private var bodies: [Int32: [UInt8]] = [:]
    var wishes: [Int32: ChannelWish] = [:]
    var wishAnswers: [Int32: (status: Int, channel: ChannelIdentity?)] = [:]
    private(set) var isOpen = false
    /// Whether it sends nothing more but still receives.
    private(set) var isHalfClosed = false
    private var lastStream: Int32?

    init(_ world: World, _ number: Int, _ environment: PostriderNotifications.Environment) {
        self.world = world
        self.number = number
        self.environment = environment
    }

    var findings: Findings { world.findings }

    /// The number of requests without an answer.
    var openCount: Int { open.count + wishes.count }

    /// Signed once for all runs, because a new signature may have another length on the wire.
    static let authorization =
        "bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IktFWTAwMDAwMDEifQ."
        + "eyJpc3MiOiJURUFNMDAwMDAxIiwiaWF0IjoxNzAwMDAxODAwfQ."
        + "MEUCIQD7mYz6cGOjookaDp7muxjMEGulo9rJ4hFLqQOMqC7sEgIgSo1__A2_3u0-Zg6p42YYc8_E8ct98R_DC1bhqrZulPw"

    /// Sends a push. Returns false if the connection accepts no more requests.
    func send(_ push: Push) -> Bool {
        guard isOpen, !isHalfClosed else { return false }
        do throws(SessionError) {
            let stream = try endpoint.streams.openRequest(Self.head(push))
            open[stream] = push.number
            let body = push.payload
            let sent: [UInt8] =
                switch push.fault {
                case .reset: Array(body.prefix(3))
                case .payload: Array(body.dropLast())
                case .hugeBody: [UInt8](repeating: 0x20, count: 6000)
                case .none, .method, .forgedToken, .environment, .topic: body
                }
            endpoint.streams.send(stream, sent.span)
            if push.fault == .reset {
                endpoint.streams.reset(stream, errorCode: ErrorCode.cancel)
            } else {
                endpoint.streams.finish(stream)
            }
            return true
        } catch {
            return false
        }
    }

    private static func head(_ push: Push) -> HeaderBlock {
        var head: HeaderBlock = [
            ":method": push.fault == .method ? "GET" : "POST", ":scheme": "https", ":authority": "relay",
            ":path": "/3/device/" + (push.fault == .forgedToken ? String(push.token.reversed()) : push.token),
            "authorization": Self.authorization, "apns-id": push.identity.description.lowercased(),
            "apns-priority": push.priority,
        ]
        if push.fault != .topic { head.add("apns-topic", push.topic) }
        if let collapse = push.collapse { head.add("apns-collapse-id", collapse) }
        if push.isNowOrNever { head.add("apns-expiration", "0") }
        if let expiresAt = push.expiresAt { head.add("apns-expiration", "\(expiresAt.milliseconds / 1000)") }
        return head
    }

    /// Ends the sending side of the connection: a half-closed socket.
    func closeHalf() {
        isHalfClosed = true
        (endpoint.wire as? SimulatedWire)?.closeHalf()
    }

    func opened() { isOpen = true }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        findings.expect(kind == .head && statuses[stream] == nil, .answers, "a stream is answered twice")
        guard !takeAnswer(stream, block) else { return }
        let status = block.text(of: ":status").flatMap { Int($0) } ?? 0
        statuses[stream] = (status, block.text(of: "apns-id"))
        findings.expect(
            endStream == (status == 200), .answers, "a 200 has no body, and everything else has one")
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        bodies[stream, default: []].append(copying: bytes)
    }

    func ended(_ stream: Int32) {
        guard !endAnswer(stream, world) else { return }
        guard let number = open.removeValue(forKey: stream), let answer = statuses[stream] else {
            return findings.note(.answers, "stream \(stream) ended without an answer")
        }
        findings.expect(
            answer.identity == world.pushes[number].identity.description.lowercased(), .answers,
            "the apns-id of push \(number) is not echoed byte for byte")
        world.answered(number, answer.status, String(decoding: bodies[stream] ?? [], as: UTF8.self))
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        wishes[stream] = nil
        guard let number = open.removeValue(forKey: stream) else { return }
        // The relay answers all streams that its GOAWAY covers before it closes.
        world.unanswered(
            number, isOwed: !isHalfClosed && lastStream.map { stream <= $0 } ?? false)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        // The first GOAWAY names no stream, and the connection may be cut before the last one.
        if lastStream < .max { self.lastStream = lastStream }
    }

    func disconnected(_ reason: CloseReason) { isOpen = false }
}
