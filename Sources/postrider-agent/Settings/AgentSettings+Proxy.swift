import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderProxies
import PostriderTransport

// The settings of the proxy between the agent and its relay.
extension AgentSettings {
    private static let proxyForm =
        "off, or a proxy such as http://proxy.example.org:3128, http://user@proxy.example.org:3128 or "
        + "socks5://proxy.example.org:1080"

    /// The proxy of the settings; nil if there is none. Variables of the environment that are meant for other programs,
    /// such as `HTTPS_PROXY`, are ignored.
    ///
    /// - Parameter readSecret: returns the text of a file that only its owner can read.
    static func proxy(
        _ texts: SettingTexts<AgentSetting>, _ readSecret: (String) throws -> String
    ) throws -> Proxy? {
        let file = texts[.proxyPasswordFile]
        guard let text = texts[.proxy], text != "off" else {
            guard file == nil else {
                throw texts.mistake(
                    .proxyPasswordFile, "is of no use without 'proxy': name one there, or leave it out")
            }
            return nil
        }
        // The text is not shown, because it may contain a password.
        guard let proxy = NamedProxy(text) else { throw texts.mistake(.proxy, "must be \(proxyForm)") }
        guard !proxy.hasPassword else {
            throw texts.mistake(
                .proxy,
                "has a password in it, which others could read: put it into a file, and name that in "
                    + "proxy-password-file")
        }
        if let relay = texts[.relay], relay.contains("%") {
            throw texts.mistake(
                .relay,
                "names an interface of this machine, which a proxy knows nothing of: name a host, or an "
                    + "address without an interface")
        }
        let credentials = try credentials(of: proxy, file, texts, readSecret)
        return Proxy(proxy.proxyProtocol, at: proxy.destination, as: credentials)
    }

    private static func credentials(
        of proxy: NamedProxy, _ file: String?, _ texts: SettingTexts<AgentSetting>,
        _ readSecret: (String) throws -> String
    ) throws -> ProxyCredentials? {
        guard let user = proxy.user else {
            guard file == nil else {
                throw texts.mistake(
                    .proxyPasswordFile, "needs a user in 'proxy', such as http://user@proxy.example.org:3128")
            }
            return nil
        }
        guard let file else {
            throw texts.mistake(
                .proxy,
                "names a user, whose password belongs into a file: name that in proxy-password-file")
        }
        guard let credentials = ProxyCredentials(user: user, password: try readSecret(file).trimmed) else {
            throw texts.mistake(
                .proxyPasswordFile,
                "must be a file with one line, the password of 1 to 255 bytes, and the user in 'proxy' must "
                    + "have 1 to 255 bytes without a colon")
        }
        return credentials
    }
}

/// A proxy as the setting spells it: `http://user@proxy.example.org:3128`.
private struct NamedProxy {
    let proxyProtocol: ProxyProtocol
    let destination: Destination
    let user: String?
    let hasPassword: Bool

    /// Parses the setting; nil if it has another form.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text),
            let proxyProtocol = parts.scheme.flatMap(ProxyProtocol.init(rawValue:)),
            let host = parts.host, let port = parts.port,
            let destination = try? Destination("\(host):\(port)"), destination.host != nil,
            parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.fragment == nil
        else { return nil }
        self.proxyProtocol = proxyProtocol
        self.destination = destination
        user = parts.user
        hasPassword = parts.password != nil
    }
}
