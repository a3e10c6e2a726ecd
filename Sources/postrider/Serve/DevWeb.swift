import PostriderCommands
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// The web port of `postrider dev`.
enum DevWeb {
    /// The web port; nil if the user wants none.
    static func make(_ options: ParsedOptions, _ place: DevPlace) throws -> RelayConfiguration.Web? {
        guard let port = try port(options, from: 1) else { return nil }
        return .init(
            addresses: [try SocketAddress(host: place.address, port: port)], origin: origin(place, port))
    }

    /// The number of the web port, from a least one; nil if the user wants none.
    static func port(_ options: ParsedOptions, from least: Int) throws -> UInt16? {
        try options.integer("web-port", in: least...65_535).flatMap { UInt16(exactly: $0) }
    }

    /// The origin of the URLs to which senders post.
    static func origin(_ place: DevPlace, _ port: UInt16) -> String { "https://\(place.host):\(port)" }

    /// The URL for `dom.push.serverURL` of a browser: the enrolment key is its path.
    static func url(_ port: UInt16, _ place: DevPlace, enrolmentKey: String) -> String {
        "wss://\(place.host):\(port)/\(enrolmentKey)"
    }

    static let options: [Option] = [
        .value(
            "web-port", "PORT",
            "The port for Web Push: senders, and browsers as devices; none if not given.")
    ]
}
