import PostriderMetrics
import PostriderNotifications
import PostriderRelay
import PostriderStorage

extension MetricsService {
    /// Starts to serve the metrics of a relay with its store in this directory; nil without arguments.
    static func start(
        _ arguments: MetricsArguments?, of relay: Relay, dataDirectory: String, log: Log
    ) -> MetricsService? {
        start(arguments, log: log) { respond in
            relay.measure {
                respond(ServiceMeasurement(families: $0.families, obstacles: $0.obstacles))
            }
        } own: {
            ProcessFigures.families(version: Commands.version, role: "relay")
                + StoreUsage(directory: dataDirectory).families
        }
    }
}

extension StoreUsage {
    /// The Prometheus metrics of the store's files.
    var families: [MetricFamily] {
        var bytes = MetricFamily(
            "postrider_store_file_bytes", .gauge, "Bytes of a database file of the store.")
        var logs = MetricFamily(
            "postrider_store_log_bytes", .gauge, "Bytes of the write-ahead log beside a database file.")
        for file in files {
            bytes.add(file.bytes, ("file", file.name))
            logs.add(file.logBytes, ("file", file.name))
        }
        var families = [bytes, logs]
        if let freeBytes {
            families.append(
                .gauge(
                    "postrider_store_disk_free_bytes", freeBytes,
                    "Bytes that the disk of the store has left for an ordinary user."))
        }
        return families
    }
}
