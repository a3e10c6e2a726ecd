import FoundationEssentials
import PostriderNotifications

/// Answers the operator's requests about devices.
final class DeviceRoutes {
    typealias Respond = ControlHandler.Respond

    private let changes: RegistryChanges
    private let queries: ShardQueries
    private let directory: DeviceDirectory

    init(_ changes: RegistryChanges, _ queries: ShardQueries, _ directory: DeviceDirectory) {
        self.changes = changes
        self.queries = queries
        self.directory = directory
    }

    /// Answers a request. Returns false if the request is about something else.
    func handle(
        _ method: String, _ name: String?, _ query: Substring, _ body: [UInt8], _ respond: @escaping Respond
    ) -> Bool {
        do throws(DeviceDirectory.Refusal) {
            switch (method, name) {
            case ("GET", nil): try listDevices(query, respond)
            case ("DELETE", let name?): removeDevice(try directory.known(name), respond)
            case ("PATCH", let name?): try changeDevice(name, body, respond)
            default: return false
            }
        } catch {
            respond(ControlHandler.refusal(error.status, error.sentence))
        }
        return true
    }

    /// `GET /v1/devices?connected=…&away-for=…&device=…&tag=…&topic=…&sort=…&limit=…`.
    private func listDevices(_ query: Substring, _ respond: @escaping Respond) throws(DeviceDirectory.Refusal)
    {
        let selection: DeviceSelection
        do throws(DeviceSelection.Mistake) {
            selection = try DeviceSelection(query)
        } catch {
            throw DeviceDirectory.Refusal(status: 400, sentence: error.sentence)
        }
        var filter = selection.filter
        if !selection.names.isEmpty || !selection.tags.isEmpty {
            filter.only = try directory.devices(named: selection.names, tagged: selection.tags)
        }
        queries.ask(.devices(filter)) { [directory] replies in
            var devices: [Control.Device] = []
            let successors = directory.successors(of: Self.absent(replies))
            for case .devices(let some) in replies {
                devices += some.map { report in
                    Control.Device(
                        report, directory[report.record.identity],
                        successor: successors[report.record.identity])
                }
            }
            respond(ControlHandler.answer(Array(selection.sorted(devices))))
        }
    }

    private static func absent(_ replies: [ShardReply]) -> [(device: DeviceIdentity, since: Moment)] {
        var absent: [(device: DeviceIdentity, since: Moment)] = []
        for case .devices(let some) in replies {
            for report in some where !report.presence.isConnected {
                absent.append((report.record.identity, report.presence.since))
            }
        }
        return absent
    }

    private func removeDevice(_ identity: DeviceIdentity, _ respond: @escaping Respond) {
        changes.apply([.removeDevice(identity)]) { [queries, directory] result in
            if case .failure(let error) = result {
                respond(ControlHandler.refusal(503, error.description))
                return
            }
            queries.ask(.remove(identity)) { replies in
                let wasThere = replies.contains { if case .removed(true) = $0 { true } else { false } }
                let heir = directory.removed(identity).map(Control.LabelledDevice.init)
                respond(
                    wasThere
                        ? ControlHandler.answer(
                            Control.RemovedDevice(identity: identity.description, heir: heir))
                        : ControlHandler.refusal(404, "There is no device \(identity)."))
            }
        }
    }

    /// `PATCH /v1/devices/<device>`.
    private func changeDevice(
        _ text: String, _ body: [UInt8], _ respond: @escaping Respond
    ) throws(DeviceDirectory.Refusal) {
        let device = try directory.known(text)
        guard let wish = try? JSONDecoder().decode(Control.DeviceChange.self, from: Data(body)) else {
            throw DeviceDirectory.Refusal(
                status: 400, sentence: "A device is changed with a name, addTags and removeTags, as JSON.")
        }
        var change = DeviceDirectory.Change()
        if let text = wish.name {
            guard let name = DeviceName(text) else {
                throw DeviceDirectory.Refusal(
                    status: 400, sentence: "A device's name is \(DeviceName.rule), unlike '\(text)'.")
            }
            change.name = name
        }
        change.added = try tags(wish.addTags ?? [])
        change.removed = try tags(wish.removeTags ?? [])
        directory.change(device, change) { result in
            switch result {
            case .success(let entry): respond(ControlHandler.answer(Control.LabelledDevice(entry)))
            case .failure(let refusal): respond(ControlHandler.refusal(refusal.status, refusal.sentence))
            }
        }
    }

    private func tags(_ words: [String]) throws(DeviceDirectory.Refusal) -> [DeviceTag] {
        var tags: [DeviceTag] = []
        for word in words {
            guard let tag = DeviceTag(word) else {
                throw DeviceDirectory.Refusal(
                    status: 400, sentence: "A tag is \(DeviceTag.rule), unlike '\(word)'.")
            }
            tags.append(tag)
        }
        return tags
    }
}

extension Control.LabelledDevice {
    init(_ entry: DirectoryEntry) {
        self.init(
            identity: entry.label.device.description, name: entry.name.text,
            tags: entry.label.tags.map(\.text))
    }
}
