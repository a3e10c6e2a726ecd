import PostriderCommands
import PostriderRelay
import PostriderTransport

/// The notifications that a relay under load has given up, by its own counters (docs/operate/commands.md). They
/// explain losses that the load run found.
enum RelayLosses {
    /// The counts by reason since the relay was started; nil if the relay does not answer.
    static func counted(at control: SocketAddress) async -> [String: UInt64]? {
        let client = ControlClient(address: control)
        guard let status = try? await client.list("/v1/status", of: Control.Status.self).item else {
            return nil
        }
        let counters = status.counters
        return counters.dropped.merging(
            [
                "expired": counters.expired, "replaced": counters.replaced,
                "broadcasts": status.broadcasts.dropped,
            ]
        ) { $1 }
    }
}
