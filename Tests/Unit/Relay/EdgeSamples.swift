import PostriderCourier
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

/// The messages about devices at an edge, for tests of all messages.
enum EdgeSamples {
    static let address = ReplyAddress(shard: 2, stream: 0, connection: 77)

    /// What an edge sends, with each case.
    static let requests: [EdgeMessage] = [
        .open(
            Hello(
                deviceIdentity: Samples.device, deviceSecret: DeviceFixture.secret, keepaliveSeconds: 60,
                agent: "test/1", reception: Reception(savesPower: true, ignored: ["c.d"]),
                processInstance: .max),
            host: "2001:db8::1", address),
        .openBrowser(
            BrowserHello(
                identity: WebIdentity(
                    device: Samples.device, secret: [UInt8](repeating: 7, count: WebIdentity.secretBytes)),
                enrolmentKey: "k"),
            host: "192.0.2.7", address),
        .said(Samples.device, [1, 2, 3], address), .said(Samples.device, [], address),
        .ended(Samples.device, nil, address), .ended(Samples.device, .cut, address),
    ]

    /// What an edge is sent, with each case.
    static let answers: [EdgeMessage] = [
        .say(address, [0, 0, 0, 0, 1, 9], isBroadcast: false), .say(address, [1], isBroadcast: true),
        .finish(address, .ok, ""), .finish(address, .resourceExhausted, "enough"), .finish(address, nil, ""),
        .close(address, code: 1013, "later"), .refuse(address, "no room"),
    ]

    static var messages: [EdgeMessage] { requests + answers }
}

extension EdgeMessage {
    /// The same message at another address.
    func at(_ address: ReplyAddress) -> EdgeMessage {
        switch self {
        case .open(let hello, let host, _): .open(hello, host: host, address)
        case .openBrowser(let hello, let host, _): .openBrowser(hello, host: host, address)
        case .said(let device, let bytes, _): .said(device, bytes, address)
        case .ended(let device, let ending, _): .ended(device, ending, address)
        case .say(_, let frame, let isBroadcast): .say(address, frame, isBroadcast: isBroadcast)
        case .finish(_, let status, let detail): .finish(address, status, detail)
        case .close(_, let code, let reason): .close(address, code: code, reason)
        case .refuse(_, let detail): .refuse(address, detail)
        case .linkEnded: self
        }
    }

    /// The same message at the address that the samples have over a link.
    func through(_ link: Int) -> EdgeMessage { at(EdgeSamples.address.through(link)) }

    /// All properties as text.
    var described: String { dumped(self) }
}

extension ChannelMessage {
    /// All properties as text.
    var described: String { dumped(self) }
}

private func dumped(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}

extension [EdgeMessage] {
    /// The ends of sessions that are told.
    var ends: [DevicePresence.Ending?] {
        var ends: [DevicePresence.Ending?] = []
        for case .ended(_, let ending, _) in self { ends.append(ending) }
        return ends
    }
}
