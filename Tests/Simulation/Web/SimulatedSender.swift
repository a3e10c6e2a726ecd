import PostriderEndpoints
import PostriderHTTP2
import PostriderJSON
import PostriderTransport

/// The connection of a sender of Web Push: a real HTTP/2 client that knows the possible answers.
final class SimulatedSender: EndpointOwner {
    /// What a request is about.
    private enum Request {
        case message(Int)
        /// Asks for receipts, since the event of this number.
        case read(url: String, sentAt: Int)
        /// Removes a receipt.
        case remove(url: String)
    }

    private(set) lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    private unowned let world: World
    private var open: [Int32: Request] = [:]
    private var heads: [Int32: (status: Int, location: String?, link: String?)] = [:]
    private var bodies: [Int32: [UInt8]] = [:]
    private(set) var isOpen = false
    private var lastStream: Int32?

    init(_ world: World) { self.world = world }

    private var findings: Findings { world.findings }
    /// The number of requests without an answer.
    var openCount: Int { open.count }

    // MARK: Requests

    /// Sends a message. Returns false if the connection accepts no more requests.
    ///
    /// - Parameter subscription: the URL of the receipt subscription that is to be used again.
    func send(_ message: SimulatedMessage, _ subscription: String?) -> Bool {
        var address = message.address
        if message.fault == .forgedAddress { address = String(address.dropLast(8)) + "00000000" }
        var head = head("POST", address)
        let seconds = message.secondsToLive + (world.fault == .senderProlongs ? 3_600 : 0)
        if message.fault != .noTTL { head.add("ttl", String(seconds)) }
        head.add("content-encoding", message.fault == .encoding ? "gzip" : "aes128gcm")
        if let topic = message.topic, world.fault != .senderConceals { head.add("topic", topic) }
        if message.wantsReceipt { head.add("prefer", "respond-async") }
        if message.wantsReceipt, let subscription {
            head.add("link", "<\(subscription)>; rel=\"urn:ietf:params:push:receipt\"")
        }
        let padding = message.fault == .hugeBody ? [UInt8](repeating: 0x20, count: 5_000) : []
        return ask(.message(message.number), head, body: message.payload + padding)
    }

    /// Asks for receipts and waits for the first for this many seconds.
    func read(_ url: String, waitingSeconds seconds: Int) -> Bool {
        var head = head("GET", url)
        head.add("prefer", "wait=\(seconds)")
        return ask(.read(url: url, sentAt: world.events), head)
    }

    func remove(_ url: String) -> Bool { ask(.remove(url: url), head("DELETE", url)) }

    private func head(_ method: String, _ url: String) -> HeaderBlock {
        [
            ":method": method, ":scheme": "https", ":authority": "push.simulated",
            ":path": String(url.dropFirst(SimulatedWeb.origin.count)),
        ]
    }

    private func ask(_ request: Request, _ head: HeaderBlock, body: [UInt8] = []) -> Bool {
        guard isOpen, let stream = try? endpoint.streams.openRequest(head) else { return false }
        open[stream] = request
        if !body.isEmpty { endpoint.streams.send(stream, body.span) }
        endpoint.streams.finish(stream)
        return true
    }

    // MARK: Answers

    func opened() { isOpen = true }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        findings.expect(kind == .head && heads[stream] == nil, .answers, "a stream is answered twice")
        let status = block.text(of: ":status").flatMap { Int($0) } ?? 0
        heads[stream] = (status, block.text(of: "location"), block.text(of: "link"))
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        bodies[stream, default: []].append(copying: bytes)
    }

    func ended(_ stream: Int32) {
        let body = bodies.removeValue(forKey: stream) ?? []
        guard let request = open.removeValue(forKey: stream),
            let (status, location, link) = heads.removeValue(forKey: stream)
        else { return findings.note(.answers, "stream \(stream) ended without an answer") }
        switch request {
        case .message(let number):
            // `<URL>; rel="…"`
            let target = link.map { String($0.dropFirst().prefix { $0 != ">" }) }
            world.answered(message: number, status, location: location, receipts: target)
        case .read(_, let sentAt): read(status, body, since: sentAt)
        case .remove(let url):
            findings.expect(
                [204, 404, 429, 503].contains(status), .answers, "a DELETE is answered \(status)")
            if status == 204 { world.web.receipts[url]?.removedAt = world.events }
        }
    }

    private func read(_ status: Int, _ body: [UInt8], since event: Int) {
        findings.expect([200, 204, 429, 503].contains(status), .answers, "a GET is answered with \(status)")
        guard status == 200 else { return }
        guard case .array(let list) = JSONValue.members(ofObject: body.span)?["receipts"] else {
            return findings.note(.conduct, "a list of receipts cannot be read")
        }
        for receipt in list {
            guard let members = receipt.object, let message = members["message"]?.string,
                let url = members["receipt"]?.string, let status = members["status"]?.wholeNumber
            else { return findings.note(.conduct, "a receipt cannot be read") }
            world.noteReceipt(url, SimulatedReceipt(message: message, status: status), askedAt: event)
            if world.isEnding || !world.chance.once(in: 4) { _ = remove(url) }
        }
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        bodies[stream] = nil
        heads[stream] = nil
        guard case .message(let number) = open.removeValue(forKey: stream) else { return }
        world.web.messages[number].isLost = true
        // The relay answers all streams that its GOAWAY covers before it closes.
        let isOwed = lastStream.map { stream <= $0 } ?? false
        findings.expect(
            !isOwed || !world.isDraining, .answers,
            "message \(number) was open in the drain, and is not answered")
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        // The first GOAWAY names no stream, and the connection may be cut before the last one.
        if lastStream < .max { self.lastStream = lastStream }
    }

    func disconnected(_ reason: CloseReason) { isOpen = false }
}
