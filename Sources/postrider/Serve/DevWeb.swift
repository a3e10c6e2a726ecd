import PostriderCommands
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// The web port of `postrider dev`.
enum DevWeb {
    /// The web port; nil if the user wants none.
    static func make(_ options: ParsedOptions, _ place: DevPlace) throws -> RelayConfiguration.Web? {
        guard let port = try options.integer("web-port", in: 1...65_535) else { return nil }
        return .init(
            addresses: [try SocketAddress(host: place.address, port: UInt16(port))],
            origin: "https://\(place.host):\(port)")
    }

    /// The URL for `dom.push.serverURL` of a browser: the enrolment key is its path.
    static func url(_ relay: Relay, _ place: DevPlace, enrolmentKey: String) -> String? {
        relay.webAddresses.first?.port.map { "wss://\(place.host):\($0)/\(enrolmentKey)" }
    }

    static let options: [Option] = [
        .value(
            "web-port", "PORT",
            "The port for Web Push: senders, and browsers as devices; none if not given.")
    ]
}
