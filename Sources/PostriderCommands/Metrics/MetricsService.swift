import Dispatch
package import PostriderHTTP1
package import PostriderMetrics
package import PostriderNotifications
package import PostriderTransport
import Synchronization

/// The figures of a service at one moment.
package struct ServiceMeasurement: Sendable {
    package let families: [MetricFamily]
    /// The reasons for which the service is not ready, each a phrase; empty if it is ready.
    package let obstacles: [String]

    /// Creates a measurement from its figures.
    package init(families: [MetricFamily], obstacles: [String]) {
        self.families = families
        self.obstacles = obstacles
    }
}

/// Serves metrics and health over HTTP/1.1: `/metrics`, `/livez`, `/readyz`. Its own thread asks the threads of the
/// service, and waits for them for a bounded time.
package final class MetricsService: Sendable {
    /// Asks the service for its figures. It may respond on any thread, or never.
    package typealias Measure =
        @Sendable (_ respond: @escaping @Sendable (ServiceMeasurement) -> Void) -> Void

    private let server: Mutex<HTTP1Server?> = Mutex(nil)
    private let tokens: Mutex<MetricsTokens>
    private let latest = Mutex<(measurement: ServiceMeasurement, at: UInt64)?>(nil)
    private let patienceMilliseconds: Int
    private let measure: Measure
    /// Metrics of the whole process.
    private let own: @Sendable () -> [MetricFamily]

    /// The address it listens on; nil after it was stopped.
    package var address: SocketAddress? { server.withLock { $0?.address } }

    /// Starts to serve.
    ///
    /// - Parameters:
    ///   - patienceMilliseconds: how long the service may take to respond.
    ///   - own: returns further metrics for `/metrics`.
    package init(
        _ arguments: MetricsArguments, patienceMilliseconds: Int = Limits.metricsMilliseconds,
        sockets: InheritedSockets? = nil, measure: @escaping Measure,
        own: @escaping @Sendable () -> [MetricFamily]
    ) throws {
        tokens = Mutex(arguments.tokens)
        self.patienceMilliseconds = patienceMilliseconds
        self.measure = measure
        self.own = own
        let bounds = HTTP1Bounds(
            connections: Limits.metricsConnections.most,
            connectionsPerAddress: arguments.address.isOfThisMachine
                ? nil : Limits.metricsConnections.perAddress,
            timeoutSeconds: Limits.metricsTimeoutSeconds, connectionBytes: Limits.metricsConnectionBytes)
        let started = try HTTP1Server(
            at: arguments.address, certificate: try arguments.certificate?.read(), bounds: bounds,
            inherited: sockets
        ) { [weak self] request in
            self?.respond(to: request) ?? HTTP1Response(status: 503, body: "starting\n")
        }
        server.withLock { $0 = started }
    }

    /// Starts to serve the metrics of a service. Returns nil if that fails: the log has the reason, and the service
    /// runs without metrics.
    package static func start(
        _ arguments: MetricsArguments?, sockets: InheritedSockets? = nil, log: Log,
        measure: @escaping Measure,
        own: @escaping @Sendable () -> [MetricFamily]
    ) -> MetricsService? {
        guard let arguments else { return nil }
        do {
            let service = try MetricsService(arguments, sockets: sockets, measure: measure, own: own)
            let scheme = arguments.certificate == nil ? "http" : "https"
            log.notice("metrics: \(scheme)://\(service.address ?? arguments.address)/metrics")
            return service
        } catch {
            log.error("metrics are not served: \(error)")
            return nil
        }
    }

    /// Replaces the tokens and the certificate.
    package func renew(_ arguments: MetricsArguments) throws {
        if let certificate = arguments.certificate {
            let read = try certificate.read()
            try server.withLock { try $0?.renew(read) }
        }
        tokens.withLock { $0 = arguments.tokens }
    }

    /// Closes the connections and ends the thread.
    package func stop() {
        let server = server.withLock { server in
            defer { server = nil }
            return server
        }
        server?.stop()
    }

    // MARK: Requests, on the server's thread

    package func respond(to request: HTTP1Request) -> HTTP1Response {
        guard tokens.withLock({ $0 }).admit(request.field("Authorization")) else {
            return HTTP1Response(
                status: 401, body: "Show a bearer token of the setting metrics-token.\n",
                fields: [("WWW-Authenticate", "Bearer")])
        }
        switch request.path {
        case "/metrics": return metrics()
        case "/livez":
            return measurement() == nil ? Self.stuck : HTTP1Response(status: 200, body: "ok\n")
        case "/readyz": return readiness()
        default:
            return HTTP1Response(status: 404, body: "There are /metrics, /livez and /readyz here.\n")
        }
    }

    private func metrics() -> HTTP1Response {
        guard let measurement = measurement() else { return Self.stuck }
        let abandoned = MetricFamily.counter(
            "postrider_metrics_abandoned_total",
            server.withLock { $0?.abandonedCount } ?? 0,
            "Requests for metrics or health whose answer was not taken, or that were not completed, in time.")
        return HTTP1Response(
            status: 200, contentType: PrometheusText.contentType,
            body: PrometheusText.text(of: measurement.families + own() + [abandoned]))
    }

    private func readiness() -> HTTP1Response {
        guard let measurement = measurement() else { return Self.stuck }
        guard !measurement.obstacles.isEmpty else { return HTTP1Response(status: 200, body: "ok\n") }
        return HTTP1Response(status: 503, body: measurement.obstacles.map { "not ready: \($0)\n" }.joined())
    }

    private static let stuck = HTTP1Response(
        status: 503,
        body: "stuck: a thread did not answer within \(Limits.metricsMilliseconds / 1000) seconds\n")

    /// The figures of the service; nil if it does not respond in time. Figures that were read a moment ago are used
    /// again.
    private func measurement() -> ServiceMeasurement? {
        let now = EventLoop.monotonicNanoseconds
        if let latest = latest.withLock({ $0 }), now - latest.at < Limits.metricsAgeMilliseconds * 1_000_000 {
            return latest.measurement
        }
        let answer = Answer()
        measure { answer.put($0) }
        guard let measurement = answer.take(withinMilliseconds: patienceMilliseconds) else { return nil }
        latest.withLock { $0 = (measurement, now) }
        return measurement
    }

    /// The response for which the server's thread waits.
    private final class Answer: Sendable {
        private let content = Mutex<ServiceMeasurement?>(nil)
        private let isThere = DispatchSemaphore(value: 0)

        func put(_ measurement: ServiceMeasurement) {
            content.withLock { $0 = measurement }
            isThere.signal()
        }

        func take(withinMilliseconds patience: Int) -> ServiceMeasurement? {
            let deadline = DispatchTime.now() + .milliseconds(patience)
            guard isThere.wait(timeout: deadline) == .success else { return nil }
            return content.withLock { $0 }
        }
    }
}
