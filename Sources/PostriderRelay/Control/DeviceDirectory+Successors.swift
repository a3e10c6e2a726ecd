import PostriderNotifications

extension DeviceDirectory {
    /// The devices that have probably taken the place of absent ones: for each absent device, the oldest that calls
    /// itself the same and has enrolled since the absent one was last seen.
    func successors(of absent: [(device: DeviceIdentity, since: Moment)]) -> [DeviceIdentity: DeviceIdentity]
    {
        let doubtful = absent.filter { entries[$0.device].map { bases[$0.base.key] ?? 0 > 1 } == true }
        guard !doubtful.isEmpty else { return [:] }
        let keys = Set(doubtful.compactMap { entries[$0.device]?.base.key })
        var namesakes: [String: [(enrolledAt: Moment, device: DeviceIdentity)]] = [:]
        for (device, entry) in entries where keys.contains(entry.base.key) {
            namesakes[entry.base.key, default: []].append((entry.enrolledAt, device))
        }
        for key in keys {
            namesakes[key]?.sort { ($0.enrolledAt, $0.device.high) < ($1.enrolledAt, $1.device.high) }
        }
        var successors: [DeviceIdentity: DeviceIdentity] = [:]
        for (device, since) in doubtful {
            guard let others = entries[device].flatMap({ namesakes[$0.base.key] }) else { continue }
            let place = others.firstPlace { $0.enrolledAt > since }
            if place < others.endIndex, others[place].device != device {
                successors[device] = others[place].device
            }
        }
        return successors
    }
}
