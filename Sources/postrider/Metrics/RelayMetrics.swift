import PostriderCallbackSender
import PostriderCallbacks
import PostriderCommands
import PostriderMetrics
import PostriderNotifications
import PostriderRelay
import PostriderSpans
import PostriderStorage
import PostriderTransport

extension MetricsService {
    /// Starts to serve the metrics of a relay with its store in this place; nil without arguments.
    static func start(
        _ arguments: MetricsArguments?, of relay: Relay, store place: StorePlace,
        callbacks: CallbackSender? = nil, spans: SpanSender? = nil, sockets: InheritedSockets? = nil, log: Log
    ) -> MetricsService? {
        start(arguments, sockets: sockets, log: log) { respond in
            relay.measure {
                respond(ServiceMeasurement(families: $0.families, obstacles: $0.obstacles))
            }
        } own: {
            ProcessFigures.families(version: Program.version, role: "relay")
                + StoreUsage(directory: place.dataDirectory).families(hasFiles: place.database == nil)
                + (callbacks?.families ?? []) + (spans?.families ?? [])
        }
    }
}

extension StoreUsage {
    /// The Prometheus metrics of the store's files, unless it is in a database, and of the disk.
    func families(hasFiles: Bool) -> [MetricFamily] {
        var bytes = MetricFamily(
            "postrider_store_file_bytes", .gauge, "Bytes of a database file of the store.")
        var logs = MetricFamily(
            "postrider_store_log_bytes", .gauge, "Bytes of the write-ahead log beside a database file.")
        for file in files {
            bytes.add(file.bytes, ("file", file.name))
            logs.add(file.logBytes, ("file", file.name))
        }
        var families = hasFiles ? [bytes, logs] : []
        if let freeBytes {
            families.append(
                .gauge(
                    "postrider_store_disk_free_bytes", freeBytes,
                    "Bytes that the disk of the store has left for an ordinary user."))
        }
        return families
    }
}

extension SpanSender {
    /// The Prometheus metrics of spans.
    var families: [MetricFamily] {
        var ended = MetricFamily(
            "postrider_spans_total", .counter,
            "Spans of pushes that the OpenTelemetry receiver has taken, or that were dropped.")
        ended.add(counts.sent, ("result", "sent"))
        ended.add(counts.dropped, ("result", "dropped"))
        return [ended]
    }
}

extension CallbackSender {
    /// The Prometheus metrics of callbacks.
    var families: [MetricFamily] {
        var ended = MetricFamily(
            "postrider_callbacks_total", .counter,
            "Callbacks that were sent, abandoned after the last attempt, or dropped without one, and pushes "
                + "whose URL was ignored because it is not allowed.")
        for kind in CallbackCounts.Kind.allCases where kind != .failed {
            ended.add(counts[kind], ("result", "\(kind)"))
        }
        return [
            ended,
            .counter(
                "postrider_callback_failures_total", counts[.failed],
                "Attempts to send a callback that failed."),
            .gauge("postrider_callbacks_owed", owedCount, "Callbacks that wait for their next attempt."),
        ]
    }
}
