import PostriderConsole
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderRelay

@Suite("The access by the console")
struct ConsoleAccessTests {
    private let fixture: DeviceFixture
    private let console: RelayConfiguration.Console

    init() throws {
        fixture = try DeviceFixture()
        console = .init(address: try SocketAddress("127.0.0.1:0"), showsPayloads: false)
    }

    private var context: ShardContext { fixture.shard.context }

    private func access(showsPayloads: Bool = false) -> ConsoleAccess {
        var console = console
        console.showsPayloads = showsPayloads
        return ConsoleAccess(
            console, .init(hasCaptures: true, providerPort: 2197, node: nil), context)
    }

    /// The cookie of a new session with this role.
    private func cookie(_ role: ConsoleRole) throws -> (String, String) {
        let link = try #require(console.sessions.makeLink("kim", role, at: context.now))
        let secret = try #require(console.sessions.signIn(link: link, at: context.now)).secret
        return ("cookie", "\(console.sessions.cookieName)=\(secret)")
    }

    /// The status of the answer; 0 if the request is served.
    private func status(
        _ method: String, _ path: String, _ fields: [(String, String)] = [], showsPayloads: Bool = false
    ) -> Int {
        var head = HeaderBlock()
        for field in fields { head.add(field.0, field.1) }
        return switch access(showsPayloads: showsPayloads).decide(method, path, head, from: nil) {
        case .serve: 0
        case .answer(let response): response.status
        case .read: -1
        }
    }

    private static let own = ("x-postrider-console", "1")

    @Test("gives its pages to everybody, and everything else to sessions")
    func signedOut() {
        #expect(status("GET", "/") == 200 && status("GET", "/console.css") == 200)
        for path in ["/v1/status", "/session", "/v1/captures", "/v1/devices/events", "/nothing"] {
            #expect(status("GET", path) == 401, "\(path)")
        }
        #expect(status("PUT", "/v1/keys/A", [Self.own]) == 401)
        #expect(status("POST", "/3/device/00", [Self.own]) == 401)
    }

    @Test("serves what the role of the session allows")
    func roles() throws {
        let (look, send) = (try cookie(.look), try cookie(.send))
        let administer = try cookie(.administer)
        #expect(status("GET", "/v1/status", [look]) == 0)
        #expect(status("POST", "/3/device/00", [look, Self.own]) == 403)
        #expect(status("POST", "/3/device/00", [send, Self.own]) == 0)
        #expect(status("DELETE", "/v1/devices/a", [send, Self.own]) == 403)
        #expect(status("DELETE", "/v1/devices/a", [administer, Self.own]) == 0)
        #expect(status("PUT", "/v1/console-links/kim", [administer, Self.own]) == 404)
        #expect(status("PUT", "/v1/backup", [administer, Self.own]) == 404)
    }

    @Test("refuses what another page asks for, with a session as well")
    func otherPages() throws {
        let administer = try cookie(.administer)
        #expect(status("DELETE", "/v1/devices/a", [administer]) == 403)
        for site in ["cross-site", "same-site", "none"] {
            let fields = [administer, Self.own, ("sec-fetch-site", site)]
            #expect(status("DELETE", "/v1/devices/a", fields) == 403, "\(site)")
            #expect(status("GET", "/v1/status", fields) == (site == "none" ? 0 : 403), "\(site)")
        }
        #expect(
            status("DELETE", "/v1/devices/a", [administer, Self.own, ("sec-fetch-site", "same-origin")]) == 0)
    }

    @Test("finds the session among other cookies, in one field or in several")
    func cookies() throws {
        let look = try cookie(.look)
        #expect(status("GET", "/v1/status", [("cookie", "a=b; \(look.1); c=d")]) == 0)
        #expect(status("GET", "/v1/status", [("cookie", "a=b"), look]) == 0)
        #expect(status("GET", "/v1/status", [("cookie", "x\(look.1)")]) == 401)
        #expect(status("GET", "/v1/status", [("cookie", look.1.uppercased())]) == 401)
    }

    @Test("shows captures, which contain payloads, only if the operator has allowed it")
    func payloads() throws {
        let administer = try cookie(.administer)
        #expect(status("GET", "/v1/captures?limit=1", [administer]) == 403)
        #expect(status("GET", "/v1/captures?limit=1", [administer], showsPayloads: true) == 0)
    }

    @Test("signs in with a good link, and takes no more links after five that are not good")
    func signIn() throws {
        func post(_ link: String, _ access: ConsoleAccess) throws -> ControlResponse {
            var head = HeaderBlock()
            head.add(Self.own.0, Self.own.1)
            guard case .read(let answer) = access.decide("POST", "/session", head, from: nil) else {
                throw ParseFailure()
            }
            return answer(Array(#"{"link":"\#(link)"}"#.utf8))
        }
        let access = access()
        for _ in 0..<4 { #expect(try post("wrong", access).status == 403) }
        let link = try #require(console.sessions.makeLink("kim", .send, at: context.now))
        let response = try post(link, access)
        #expect(response.status == 200)
        let cookie = try #require(response.fields.first { $0.name == "set-cookie" }?.value)
        #expect(cookie.hasPrefix("__Host-"))
        #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict"))
        #expect(!String(decoding: response.body, as: UTF8.self).contains(link))
        #expect(try post(link, access).status == 403, "a link is good once")
        let next = try #require(console.sessions.makeLink("kim", .send, at: context.now))
        #expect(try post(next, access).status == 429)
        #expect(try post(next, self.access()).status == 200)
    }

    private struct ParseFailure: Error {}

    @Test("ends a session when its user signs out, or signs in again")
    func signOut() throws {
        let cookie = try cookie(.look)
        #expect(status("DELETE", "/session", [cookie]) == 403)
        #expect(status("GET", "/v1/status", [cookie]) == 0)
        #expect(status("DELETE", "/session", [cookie, Self.own]) == 200)
        #expect(status("GET", "/v1/status", [cookie]) == 401)
    }

    @Test("says to browsers that nothing is stored, framed, or loaded from elsewhere")
    func fields() {
        let fields = Dictionary(uniqueKeysWithValues: access().fields.map { ($0.name, $0.value) })
        #expect(fields["cache-control"] == "no-store")
        let policy = fields["content-security-policy"] ?? ""
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
    }
}
