import PostriderConsole
import PostriderNotifications
import Testing

@Suite("A session of the console") struct ConsoleSessionsTests {
    private let sessions = ConsoleSessions()
    private let now = Moment(seconds: 1_800_000_000)

    private func later(_ seconds: Int64) -> Moment { now.advanced(byMilliseconds: seconds * 1000) }

    private func signedIn(_ role: ConsoleRole = .look) throws -> String {
        let link = try #require(sessions.makeLink("kim", role, at: now))
        return try #require(sessions.signIn(link: link, at: now)).secret
    }

    @Test("begins with a link, once")
    func once() throws {
        let link = try #require(sessions.makeLink("kim", .send, at: now))
        let begun = try #require(sessions.signIn(link: link, at: later(299)))
        #expect(begun.session.name == "kim" && begun.session.role == .send)
        #expect(sessions.session(begun.secret, at: later(300)) == begun.session)
        #expect(sessions.signIn(link: link, at: later(299)) == nil)
    }

    @Test("does not begin with a link that is too old, another secret, or a session's own")
    func badLinks() throws {
        let link = try #require(sessions.makeLink("kim", .look, at: now))
        #expect(sessions.signIn(link: link, at: later(300)) == nil)
        #expect(sessions.signIn(link: "", at: now) == nil)
        let secret = try signedIn()
        #expect(sessions.signIn(link: secret, at: now) == nil)
        #expect(sessions.session(link, at: now) == nil)
    }

    @Test("ends an hour after its last request, and after twelve hours in any case")
    func ends() throws {
        let (idle, busy) = (try signedIn(), try signedIn())
        #expect(sessions.session(idle, at: later(3599)) != nil)
        #expect(sessions.session(idle, at: later(3599 + 3600)) == nil)
        for hour in stride(from: Int64(0), to: 12 * 3600, by: 1800) {
            #expect(sessions.session(busy, at: later(hour)) != nil)
        }
        #expect(sessions.session(busy, at: later(12 * 3600)) == nil)
    }

    @Test("ends when its user signs out, and no other ends with it")
    func signOut() throws {
        let (left, other) = (try signedIn(), try signedIn())
        sessions.signOut(left)
        #expect(sessions.session(left, at: now) == nil)
        #expect(sessions.session(other, at: now) != nil)
    }

    @Test("makes room for a new one if there are too many, the least recently seen first; links are bounded")
    func bounds() throws {
        let all = try (0..<64).map { _ in try signedIn() }
        for secret in all.dropFirst() { #expect(sessions.session(secret, at: later(1)) != nil) }
        let newest = try signedIn()
        #expect(sessions.session(all[0], at: later(1)) == nil)
        #expect(
            sessions.session(all[1], at: later(1)) != nil && sessions.session(newest, at: later(1)) != nil)
        for _ in 0..<64 { #expect(sessions.makeLink("kim", .look, at: now) != nil) }
        #expect(sessions.makeLink("kim", .look, at: now) == nil)
        #expect(sessions.makeLink("kim", .look, at: later(300)) != nil)
    }

    @Test("has a secret and a cookie of its own at each relay")
    func secrets() throws {
        let secrets = Set(try (0..<20).map { _ in try signedIn() })
        #expect(secrets.count == 20 && secrets.allSatisfy { $0.utf8.count == 64 })
        #expect(
            sessions.cookieName.hasPrefix("__Host-") && ConsoleSessions().cookieName != sessions.cookieName)
    }
}

@Suite("A role at the console") struct ConsoleRoleTests {
    @Test(
        "is needed for what it names",
        arguments: [
            ("GET", "/v1/status", ConsoleRole.look), ("GET", "/v1/devices?tag=a", .look),
            ("HEAD", "/v1/keys", .look), ("GET", "/v1/devices/events", .look),
            ("POST", "/3/device/00", .send), ("PUT", "/v1/keys/A", .administer),
            ("PATCH", "/v1/devices/a", .administer), ("DELETE", "/v1/devices/a", .administer),
        ])
    func least(_ method: String, _ path: String, _ role: ConsoleRole) {
        #expect(ConsoleRole.least(for: method, path) == role)
        #expect(ConsoleRole.allCases.filter { $0 >= role }.first == role)
    }

    @Test(
        "does not exist for what only the control socket does",
        arguments: [
            ("PUT", "/v1/console-links/kim"), ("PUT", "/v1/backup"), ("POST", "/v1/keys/A"),
            ("GET", "/3/device/00"), ("POST", "/4/device/00"), ("GET", "/"), ("GET", "v1/status"),
            ("GET", "//v1/status"), ("OPTIONS", "/v1/status"), ("CONNECT", "/v1/status"), ("GET", "/v1"),
        ])
    func none(_ method: String, _ path: String) {
        #expect(ConsoleRole.least(for: method, path) == nil)
    }
}

@Suite("A file of the console") struct ConsoleFileTests {
    @Test("has its type, and nothing but the pages is a file")
    func files() throws {
        #expect(ConsoleFile(path: "/")?.type == "text/html; charset=utf-8")
        #expect(ConsoleFile(path: "/?a=b")?.bytes.isEmpty == false)
        #expect(ConsoleFile(path: "/console.js")?.type == "text/javascript; charset=utf-8")
        for path in ["", "/index.html", "/../console.js", "//console.js", "/console.js/", "/v1/status"] {
            #expect(ConsoleFile(path: path) == nil, "\(path)")
        }
    }
}
