import PostriderAgent
import PostriderCommands
import PostriderMetrics
import PostriderNotifications

extension MetricsService {
    /// Starts to serve the metrics of an agent; nil without arguments.
    static func start(_ arguments: MetricsArguments?, of agent: Agent, log: Log) -> MetricsService? {
        start(arguments, log: log) { respond in
            agent.measure { result in
                switch result {
                case .success(let status):
                    respond(ServiceMeasurement(families: status.families, obstacles: status.obstacles))
                case .failure(let error):
                    respond(
                        ServiceMeasurement(
                            families: [], obstacles: ["state failing: \(error.description)"]))
                }
            }
        } own: {
            ProcessFigures.families(version: Program.version, role: "agent")
        }
    }
}

extension AgentControl.Status {
    /// The Prometheus metrics of an agent: the same figures as `postrider-agent status`.
    var families: [MetricFamily] {
        [
            .gauge("postrider_agent_link_up", isConnected ? 1 : 0, "1 while the relay is connected."),
            .gauge("postrider_agent_enrolled", device == nil ? 0 : 1, "1 if the device has an identity."),
            .gauge("postrider_agent_apps", apps, "Apps that are declared or have attached."),
            .gauge("postrider_agent_apps_running", running, "Apps that run."),
            .gauge("postrider_agent_inbox_notifications", inbox, "Notifications that wait for their apps."),
            .gauge(
                "postrider_agent_local_notifications_pending", pending,
                "Local notifications that are not due yet."),
            .gauge(
                "postrider_agent_dead_letters", deadLetters,
                "Notifications that their apps failed to handle too often."),
        ]
    }

    /// The reasons for which the agent is not ready.
    var obstacles: [String] { isConnected ? [] : ["link down: the relay is not connected"] }
}
