import PostriderNotifications

/// Names of devices in a cluster.
extension DeviceDirectory {
    /// Gives a device that has enrolled another number if a device of another node has its name. The device does not
    /// wait for it. Two devices that enrol at the same moment, or while a node does not answer, may keep one name:
    /// then ``DeviceSearch`` names both.
    func settleName(of device: DeviceIdentity, attempts: Int = 3) {
        guard attempts > 0, let askElsewhere, let name = self[device]?.name else { return }
        askElsewhere(name, device) { [weak self] isTaken in
            guard isTaken, let self else { return }
            avoid(name, for: device)
            settleName(of: device, attempts: attempts - 1)
        }
    }
}

extension NodeQueries {
    /// Asks the other nodes, if there are any, whether another device than this one has a name.
    func findName(_ name: DeviceName, but device: DeviceIdentity, then: @escaping (_ isTaken: Bool) -> Void) {
        askOthers(.labels([name.text])) { answers in
            let labels = answers.read(as: [Control.LabelledDevice].self).all.joined()
            let own = device.description
            then(labels.contains { $0.identity != own && $0.name.lowercased() == name.key })
        }
    }

    /// Gives the name of a removed device to its oldest heir, if some node has one (``DeviceDirectory/heir(of:)``).
    func findHeir(of name: DeviceName, then: @escaping (Control.LabelledDevice?) -> Void) {
        askAll(.heir(name)) { [self] answers in
            let heirs = answers.read(as: Control.Namesake?.self).named.compactMap { node, heir in
                heir.map { (node: node, heir: $0) }
            }
            guard let oldest = heirs.min(by: { $0.heir.isBefore($1.heir) }),
                let device = DeviceIdentity(hex: oldest.heir.identity)
            else { return then(nil) }
            ask(oldest.node, .inherit(name, by: device)) { answer in
                then((try? answer?.decoded(Control.LabelledDevice?.self)) ?? nil)
            }
        }
    }

    /// Asks the other nodes, if there are any, for the device of a name or an identity. It is unknown while a node
    /// does not answer, and if devices of several nodes have the name.
    func findDevice(_ text: String, then: @escaping (Result<DeviceIdentity, Rejection>) -> Void) {
        askOthers(.labels([text])) { answers in
            let labels = answers.read(as: [Control.LabelledDevice].self)
            let found = Set(labels.all.joined().compactMap { DeviceIdentity(hex: $0.identity) })
            if found.count == 1, let device = found.first { return then(.success(device)) }
            then(.failure(labels.missing.isEmpty ? .badDeviceToken : .serviceUnavailable))
        }
    }
}
