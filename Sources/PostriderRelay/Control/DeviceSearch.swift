import PostriderCluster
import PostriderNotifications

/// Finds devices by their names or identities at all nodes of a cluster.
struct DeviceSearch {
    /// A device that a node has.
    struct Place {
        let node: NodeName
        let device: DeviceIdentity
        let name: DeviceName?
    }

    /// What the nodes know of the texts that were asked for.
    private let found: [(node: NodeName, device: Control.LabelledDevice)]
    /// Why a device may exist that was not found; nil if none can.
    private let gap: String?

    /// A search that the nodes have answered. `isMoving` is set if some partitions have no node at the moment.
    init(_ answers: NodeValues<[Control.LabelledDevice]>, isMoving: Bool) {
        found = answers.named.flatMap { node, devices in devices.map { (node, $0) } }
        gap = Self.gap(answers, isMoving: isMoving)
    }

    /// One sentence about devices that an answer may lack; nil if it has all.
    static func gap(_ answers: NodeValues<some Any>, isMoving: Bool) -> String? {
        answers.gap
            ?? (isMoving ? "Some devices are about to move to another node, and may be missing." : nil)
    }

    /// The device with this name or identity.
    ///
    /// - Throws: a refusal if there is none, or two.
    func place(of text: String) throws(DeviceDirectory.Refusal) -> Place {
        let key = text.lowercased()
        let matches = found.filter { $0.device.identity == key || $0.device.name.lowercased() == key }
        guard let match = matches.first, let device = DeviceIdentity(hex: match.device.identity) else {
            guard let gap else { throw DeviceDirectory.unknown(text) }
            throw DeviceDirectory.Refusal(
                status: 503, sentence: "No node that has answered has the device \(text). \(gap) Ask again.")
        }
        guard let other = matches.first(where: { $0.device.identity != match.device.identity }) else {
            return Place(node: match.node, device: device, name: DeviceName(match.device.name))
        }
        throw DeviceDirectory.Refusal(
            status: 409,
            sentence: "Two devices are named \(text): \(match.device.identity) of node \(match.node), and "
                + "\(other.device.identity) of node \(other.node). Name one of them by its identity.")
    }

    /// Checks that no other device has a name.
    func checkFree(_ name: DeviceName, for device: DeviceIdentity) throws(DeviceDirectory.Refusal) {
        for other in found where other.device.name.lowercased() == name.key {
            guard let holder = DeviceIdentity(hex: other.device.identity), holder != device else { continue }
            throw DeviceDirectory.taken(name, by: holder)
        }
    }
}
