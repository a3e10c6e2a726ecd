import Foundation
import PostriderCrypto
import PostriderHTTP1
import PostriderMetrics
import PostriderNotifications
import PostriderOptions
import PostriderTransport
import Synchronization
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("Metrics and health")
struct MetricsServiceTests {
    private static func service(
        tokens: MetricsTokens = MetricsTokens(), patienceMilliseconds: Int = 60_000,
        _ measure: @escaping MetricsService.Measure
    ) throws -> MetricsService {
        try MetricsService(
            MetricsArguments(
                address: try SocketAddress("127.0.0.1:0"), tokens: tokens, certificate: nil),
            patienceMilliseconds: patienceMilliseconds, measure: measure
        ) {
            [.gauge("own", 2, "Own.")]
        }
    }

    private static func get(
        _ path: String, _ service: MetricsService, as authorization: String? = nil
    ) -> HTTP1Response {
        service.respond(
            to: HTTP1Request(
                method: "GET", path: path, fields: authorization.map { [("Authorization", $0)] } ?? []))
    }

    @Test("are told of a service that is well")
    func well() throws {
        let service = try Self.service { respond in
            respond(ServiceMeasurement(families: [.gauge("its", 1, "Its.")], obstacles: []))
        }
        let metrics = Self.get("/metrics", service)
        #expect(metrics.status == 200 && metrics.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(metrics.body.contains("\nits 1\n") && metrics.body.contains("\nown 2\n"))
        #expect(Self.get("/livez", service).status == 200 && Self.get("/readyz", service).status == 200)
        #expect(Self.get("/", service).status == 404)
    }

    @Test("say why a service that lives is not ready")
    func unready() throws {
        let service = try Self.service { respond in
            respond(ServiceMeasurement(families: [], obstacles: ["draining: a", "store failing: b"]))
        }
        let readiness = Self.get("/readyz", service)
        #expect(readiness.status == 503)
        #expect(readiness.body == "not ready: draining: a\nnot ready: store failing: b\n")
        #expect(Self.get("/livez", service).status == 200)
    }

    @Test(
        "say of a service that does not answer in time that it is stuck",
        arguments: ["/metrics", "/livez", "/readyz"])
    func stuck(path: String) throws {
        let service = try Self.service(patienceMilliseconds: 1) { _ in }
        let answer = Self.get(path, service)
        #expect(answer.status == 503 && answer.body.hasPrefix("stuck: "))
    }

    @Test("are told again of the same measurement to those who ask in a row")
    func rate() throws {
        let count = Atomic(0)
        let service = try Self.service { respond in
            count.add(1, ordering: .relaxed)
            respond(ServiceMeasurement(families: [], obstacles: []))
        }
        let start = EventLoop.monotonicNanoseconds
        for _ in 0..<1000 { _ = Self.get("/livez", service) }
        let spans = Int(
            (EventLoop.monotonicNanoseconds - start) / (Limits.metricsAgeMilliseconds * 1_000_000))
        let measured = count.load(ordering: .relaxed)
        #expect(measured <= spans + 1)
    }

    @Test("go on being told where a port is taken: the log says who has it")
    func taken() throws {
        let first = try Self.service { _ in }
        let address = try #require(first.address)
        let lines = Mutex<[String]>([])
        let second = MetricsService.start(
            MetricsArguments(address: address, tokens: MetricsTokens(), certificate: nil),
            log: Log { (level: Log.Level, text: String) in lines.withLock { $0.append("\(level) \(text)") } },
            measure: { _ in }, own: { [] })
        #expect(second == nil)
        #expect(
            lines.withLock { $0 } == [
                "error metrics are not served: Cannot listen on \(address): something else listens there; "
                    + "stop it, or choose another address."
            ])
    }

    @Test("are for those alone who show one of the tokens, where there are any")
    func tokens() throws {
        let file = try TokenFile(
            "# ours\n\(TokenFile.digest("first"))  -\n\n\(TokenFile.digest("second").uppercased())\n")
        let service = try Self.service(tokens: try MetricsTokens(file: file.path)) { respond in
            respond(ServiceMeasurement(families: [], obstacles: []))
        }
        for good in ["Bearer first", "bearer second"] {
            #expect(Self.get("/livez", service, as: good).status == 200)
        }
        for bad in [
            nil, "", "Bearer", "Bearer ", "Bearer third", "Basic first", "first", TokenFile.digest("first"),
        ] {
            let answer = Self.get("/metrics", service, as: bad)
            #expect(answer.status == 401 && answer.fields.contains { $0 == ("WWW-Authenticate", "Bearer") })
        }
    }

    @Test(
        "refuse a file of tokens that has none, or something else, with the line",
        arguments: [
            ("", "is empty"), ("# a\n", "is empty"), ("secret\n", ":1: this is no SHA-256"),
            (
                String(repeating: "a", count: 64) + "\n" + String(repeating: "g", count: 64),
                ":2: this is no SHA-256"
            ),
        ])
    func badFile(text: String, sentence: String) throws {
        let file = try TokenFile(text)
        let error = #expect(throws: CommandFailure.self) { try MetricsTokens(file: file.path) }
        #expect(error?.description.contains(sentence) == true && error?.exitCode == 2)
    }

    private static func settings(_ options: String...) throws -> MetricsArguments? {
        let arguments = ["--certificate", "c", "--private-key", "k", "--data-directory", "d"] + options
        return try Settings(options: ServeCommand.table.parse(arguments), environment: [:]) { _ in nil }
            .forRelay().metrics
    }

    @Test("are told to this machine alone unless it is said otherwise")
    func addresses() throws {
        let usual = try #require(try Self.settings())
        #expect(usual.address.description == "127.0.0.1:2199" && usual.certificate == nil)
        #expect(try Self.settings("--metrics-address", "off") == nil)
        for address in ["[::1]:1", "127.0.0.9:1", "unix:/run/metrics.sock"] {
            #expect(try Self.settings("--metrics-address", address)?.certificate == nil)
        }
        let file = try TokenFile(TokenFile.digest("token"))
        let other = try Self.settings("--metrics-address", "0.0.0.0:1", "--metrics-token", file.path)
        #expect(other?.certificate?.chain == "c" && other?.certificate?.key == "k")
    }

    @Test("are not told to other machines without a token, nor at what is no address")
    func refusals() throws {
        let open = #expect(throws: UsageError.self) { try Self.settings("--metrics-address", "0.0.0.0:2199") }
        #expect(open?.description.contains("which other machines reach: set metrics-token as well") == true)
        let wrong = #expect(throws: UsageError.self) { try Self.settings("--metrics-address", "localhost") }
        #expect(
            wrong?.description
                == "postrider serve: --metrics-address must be off, an address with its port such as "
                + "127.0.0.1:2199, or unix: and a path, not 'localhost'")
    }

    @Test("tell of the process what Linux knows")
    func process() {
        let text = PrometheusText.text(of: ProcessFigures.families(version: "1.2.3", role: "relay"))
        #expect(text.contains("postrider_build_info{version=\"1.2.3\",role=\"relay\"} 1\n"))
        for name in [
            "process_cpu_seconds_total", "process_start_time_seconds", "process_virtual_memory_bytes",
            "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
        ] {
            #expect(text.contains("\n\(name) "))
        }
    }
}

/// A file that is removed with this object.
private final class TokenFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "pr-token-\(UUID())").path

    init(_ text: String) throws { try FileText.write(text, to: path) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    static func digest(_ token: String) -> String { "\(SHA256.digest(Array(token.utf8).span))" }
}
