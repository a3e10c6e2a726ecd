import PostriderCluster
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

extension Control {
    /// Between nodes: a device that calls itself by a name that was asked for.
    struct Namesake: Codable {
        let identity: String
        let enrolledAt: Int64

        init(_ entry: DirectoryEntry) {
            identity = entry.label.device.description
            enrolledAt = entry.enrolledAt.milliseconds
        }

        /// Whether it has enrolled before another one.
        func isBefore(_ other: Namesake) -> Bool {
            (enrolledAt, identity) < (other.enrolledAt, other.identity)
        }
    }
}

extension DeviceDirectory {
    /// For each of these devices, which may be those of other nodes, the oldest device of this node that calls itself
    /// the same and has enrolled since; nil if there is none.
    func namesakes(since absent: [AbsentDevice]) -> [Control.Namesake?] {
        let keys = Set(absent.map(\.key)).filter { bases[$0] != nil }
        var namesakes: [String: [Control.Namesake]] = [:]
        if !keys.isEmpty {
            for entry in entries.values where keys.contains(entry.base.key) {
                namesakes[entry.base.key, default: []].append(Control.Namesake(entry))
            }
        }
        for key in namesakes.keys { namesakes[key]?.sort { $0.isBefore($1) } }
        return absent.map { one in
            guard let others = namesakes[one.key] else { return nil }
            let place = others.firstPlace { $0.enrolledAt > one.since.milliseconds }
            guard place < others.endIndex, others[place].identity != one.device.description else {
                return nil
            }
            return others[place]
        }
    }
}

extension NodeQueries {
    /// Finds at all nodes the devices that have probably taken the place of absent ones, for the first absent ones of a
    /// list. `then` gets the devices, and the nodes that have not answered.
    func findSuccessors(
        of devices: [Control.Device], then: @escaping ([Control.Device], _ missing: [NodeName]) -> Void
    ) {
        let absent = devices.lazy.compactMap(AbsentDevice.init).prefix(Limits.absentDevicesAtOnce)
        let asked = Array(absent)
        guard !asked.isEmpty else { return then(devices, []) }
        askAll(.successors(asked)) { answers in
            let parts = answers.read(as: [Control.Namesake?].self)
            var (devices, oldest) = (devices, [String: Control.Namesake]())
            for found in parts.all {
                for (device, namesake) in zip(asked, found) {
                    guard let namesake else { continue }
                    let known = oldest[device.device.description]
                    if known.map({ namesake.isBefore($0) }) ?? true {
                        oldest[device.device.description] = namesake
                    }
                }
            }
            for index in devices.indices {
                if let namesake = oldest[devices[index].identity] {
                    devices[index].successor = namesake.identity
                }
            }
            then(devices, parts.missing)
        }
    }
}

extension AbsentDevice {
    /// A device of a list; nil if it is connected.
    fileprivate init?(_ device: Control.Device) {
        guard !device.isConnected, let identity = DeviceIdentity(hex: device.identity) else { return nil }
        let base = DeviceName(of: identity, calledItself: device.callsItself ?? device.name)
        self.init(device: identity, key: base.key, since: Moment(milliseconds: device.since))
    }
}
