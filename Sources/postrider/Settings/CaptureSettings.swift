import PostriderCommands
import PostriderRelay
import PostriderTransport

extension Settings {
    /// The captures of `postrider serve`; nil if it keeps none.
    ///
    /// - Parameter addresses: all addresses of providers and devices. Other addresses than this machine's own are
    ///   refused, because captures let their readers see what providers push.
    func capturing(_ addresses: [SocketAddress]) throws -> TestBench? {
        guard try texts.boolean(.capture) == true else { return nil }
        guard let open = addresses.first(where: { !$0.isOfThisMachine }) else { return DevBench.make() }
        throw texts.mistake(
            .capture,
            "is for tests, and this relay listens at \(open), where others reach it; listen at 127.0.0.1 or "
                + "[::1] only, or leave it out")
    }

    /// Where captures and rules are served over HTTP/1.1; nil for nowhere.
    func capturesAddress() throws -> SocketAddress? {
        guard let text = texts[.capturesAddress], text != "off" else { return nil }
        guard try texts.boolean(.capture) == true else {
            throw texts.mistake(
                .capturesAddress, "needs captures: set capture to true as well, or leave it out")
        }
        let form =
            "off, or an address of this machine alone with a port, such as \(CapturesService.usualAddress)"
        return try texts.value(.capturesAddress, form: form) { text in
            (try? SocketAddress(text)).flatMap { $0.port != nil && $0.isOfThisMachine ? $0 : nil }
        }
    }
}
