import PostriderRelay
import PostriderTransport

/// What a relay that is driven has given up by its own counts (docs/operate/commands.md): they tell why something was
/// lost.
enum RelayLosses {
    /// By reason, since the relay was started; nil where it does not say.
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
