import FoundationEssentials
import PostriderConsole
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The access by the console on one connection: its pages are for everybody, and everything else is for sessions, as
/// far as their roles allow.
///
/// A page of another origin cannot use a session: the cookie is `SameSite=Strict`, every request that changes something
/// has a field that other origins cannot add without asking, and nothing here allows them to.
final class ConsoleAccess: ControlAccess {
    /// What the pages are told of the relay.
    struct Facts {
        /// Whether the relay captures requests.
        let hasCaptures: Bool
        /// The port that the page shows in a command that pushes.
        let providerPort: UInt16
        /// The relay's name in its cluster; nil if it is no node of one.
        let node: String?
    }

    private let console: RelayConfiguration.Console
    private let facts: Facts
    private let context: ShardContext
    /// Links that were not good, on this connection.
    private var failures = 0

    /// After so many links that are not good a connection may try no more.
    private static let mostFailures = 5
    /// The most bytes of the body of a request to sign in.
    private static let longestOrder = 1024

    init(_ console: RelayConfiguration.Console, _ facts: Facts, _ context: ShardContext) {
        self.console = console
        self.facts = facts
        self.context = context
    }

    let fields: [(name: String, value: String)] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ]

    var idleMilliseconds: Int? { 10 * 60_000 }

    func admits(_ peer: Peer?) -> Bool { true }

    func ended(_ reason: CloseReason, _ peer: Peer?) { context.consoleEnds.note(reason, of: peer) }

    func decide(_ method: String, _ path: String, _ head: HeaderBlock, from peer: Peer?) -> ControlDecision {
        let isReading = method == "GET" || method == "HEAD"
        if isReading, let file = ConsoleFile(path: path) {
            return .answer(ControlResponse(type: file.type, body: file.bytes))
        }
        // A browser says where a request comes from (Fetch Metadata Request Headers, W3C).
        let site = head.text(of: "sec-fetch-site")
        guard site == nil || site == "same-origin" || site == "none" && isReading,
            isReading || head.text(of: "x-postrider-console") == "1"
        else { return .answer(.refusal(403, "This request does not come from the console's own page.")) }
        let secret = secret(in: head)
        let session = secret.flatMap { console.sessions.session($0, at: context.now) }
        if path == "/session" { return answerSession(method, secret, session, from: peer) }
        guard let session else { return .answer(Self.signedOut) }
        guard let role = ConsoleRole.least(for: method, path) else {
            return .answer(.refusal(404, "The console has no \(method) \(path)."))
        }
        guard session.role >= role else {
            return .answer(
                .refusal(
                    403,
                    "This needs the role \(role.rawValue), and you are signed in with "
                        + "\(session.role.rawValue)."
                ))
        }
        guard console.showsPayloads || !path.hasPrefix("/v1/captures") else {
            return .answer(.refusal(403, "The console shows no payloads: set console-payloads to true."))
        }
        return .serve(OperatorChange.Caller(session: session.name))
    }

    // MARK: Sessions

    private struct Order: Decodable {
        let link: String
    }

    /// What the page is told of its session.
    private struct Description: Encodable {
        let name: String
        let role: String
        let expiresAt: Int64
        let showsPayloads: Bool
        let hasCaptures: Bool
        let providerPort: UInt16
        let node: String?
    }

    private static let signedOut = ControlResponse.refusal(
        401, "You are not signed in: 'postrider console login' prints a link.")

    private func answerSession(
        _ method: String, _ secret: String?, _ session: ConsoleSession?, from peer: Peer?
    ) -> ControlDecision {
        switch method {
        case "GET", "HEAD": .answer(session.map { describe($0) } ?? Self.signedOut)
        case "POST": .read { [self] in signIn($0, instead: secret, from: peer) }
        case "DELETE": .answer(signOut(secret))
        default: .answer(.refusal(405, "A session can be looked at, begun and ended."))
        }
    }

    private func describe(_ session: ConsoleSession, cookie: String? = nil) -> ControlResponse {
        let answer = ControlHandler.answer(
            Description(
                name: session.name, role: session.role.rawValue, expiresAt: session.endsAt.milliseconds,
                showsPayloads: console.showsPayloads,
                hasCaptures: facts.hasCaptures && console.showsPayloads,
                providerPort: facts.providerPort, node: facts.node))
        return ControlResponse(answer, fields: cookie.map { [("set-cookie", $0)] } ?? [])
    }

    /// Begins a session, and ends the one that the browser had.
    private func signIn(_ body: [UInt8], instead old: String?, from peer: Peer?) -> ControlResponse {
        guard failures < Self.mostFailures else {
            return .refusal(429, "Too many links that are not good: connect again.")
        }
        guard body.count <= Self.longestOrder,
            let order = try? JSONDecoder().decode(Order.self, from: Data(body)),
            let (secret, session) = console.sessions.signIn(link: order.link, at: context.now)
        else {
            failures += 1
            context.log.warning(
                "somebody tried to sign in to the console with a link that is not good", kind: "console",
                from: peer?.address ?? "")
            return .refusal(
                403, "This link was used, or is too old: 'postrider console login' prints another.")
        }
        if let old { console.sessions.signOut(old) }
        context.log.notice("\(session.name) has signed in to the console, to \(session.role.rawValue)")
        return describe(session, cookie: cookie(secret))
    }

    private func signOut(_ secret: String?) -> ControlResponse {
        if let secret { console.sessions.signOut(secret) }
        return ControlResponse(.done, fields: [("set-cookie", cookie("") + "; Max-Age=0")])
    }

    /// The prefix makes browsers refuse the cookie unless it is for this host alone and sent over TLS only
    /// (RFC 6265bis, section 4.1.3).
    private func cookie(_ secret: String) -> String {
        "\(console.sessions.cookieName)=\(secret); Path=/; Secure; HttpOnly; SameSite=Strict"
    }

    /// The session's secret. A browser may send each cookie in a field of its own (RFC 9113, section 8.2.3).
    private func secret(in head: HeaderBlock) -> String? {
        var found: String?
        let start = console.sessions.cookieName + "="
        head.forEach { name, value in
            guard found == nil, name.matches("cookie") else { return }
            let text = String(decoding: value.indices.map { value[$0] }, as: UTF8.self)
            for part in text.split(separator: ";") where found == nil {
                let cookie = part.drop { $0 == " " }
                if cookie.hasPrefix(start) { found = String(cookie.dropFirst(start.count)) }
            }
        }
        return found
    }
}
