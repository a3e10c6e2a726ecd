import FoundationEssentials
import PostriderNotifications

/// Answers the operator's requests about devices.
final class DeviceRoutes {
    typealias Respond = ControlHandler.Respond

    private let context: ShardContext
    private let changes: RegistryChanges
    private let queries: ShardQueries
    private let directory: DeviceDirectory

    init(
        _ context: ShardContext, _ changes: RegistryChanges, _ queries: ShardQueries,
        _ directory: DeviceDirectory
    ) {
        self.context = context
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
            case ("DELETE", let name?): try removeDevice(name, respond)
            case ("PATCH", let name?): try changeDevice(name, body, respond)
            default: return false
            }
        } catch {
            Self.refuse(error, respond)
        }
        return true
    }

    private static func refuse(_ refusal: DeviceDirectory.Refusal, _ respond: Respond) {
        respond(ControlHandler.refusal(refusal.status, refusal.sentence))
    }

    /// Answers a question of another node, or of this one, for the devices of this node.
    func answerAlone(_ question: NodeQuestion, _ respond: @escaping Respond) {
        do throws(DeviceDirectory.Refusal) {
            switch question {
            case .labels(let texts):
                let devices = directory.devices(knownAs: texts, tagged: []).compactMap { directory[$0] }
                respond(ControlHandler.answer(devices.map(Control.LabelledDevice.init)))
            case .devices(let query):
                let selection = try Self.selection(query[...])
                list(selection, directory.devices(knownAs: selection.names, tagged: selection.tags), respond)
            case .change(let device, let body): change(device, try Self.change(in: body), respond)
            case .remove(let device): remove(device, respond)
            case .successors(let absent):
                respond(ControlHandler.answer(directory.namesakes(since: absent)))
            case .heir(let name):
                respond(ControlHandler.answer(directory.heir(of: name).map(Control.Namesake.init)))
            case .inherit(let name, let device):
                let heir = directory.inherit(name, by: device)
                respond(ControlHandler.answer(heir.map(Control.LabelledDevice.init)))
            case .lookUp(let lookup):
                ProviderLookups.find(lookup, in: directory, by: queries) {
                    respond(ControlHandler.answer($0))
                }
            case .status, .trace, .progress, .channels, .subscribers, .readAccess, .deviceEvents, .history,
                .traceEvents:
                preconditionFailure("this is no question about devices")
            }
        } catch {
            Self.refuse(error, respond)
        }
    }

    // MARK: At all nodes

    /// Finds devices by their names or identities at all nodes.
    private func search(_ texts: [String], _ respond: @escaping Respond, then: @escaping Found) {
        queries.nodes.askAll(.labels(texts)) { [self] answers in
            do throws(DeviceDirectory.Refusal) {
                try then(DeviceSearch(answers.read(as: [Control.LabelledDevice].self), isMoving: isMoving))
            } catch {
                Self.refuse(error, respond)
            }
        }
    }

    private typealias Found = (DeviceSearch) throws(DeviceDirectory.Refusal) -> Void

    /// Has the node of a device do something.
    private func ask(_ place: DeviceSearch.Place, _ question: NodeQuestion, _ respond: @escaping Respond) {
        queries.nodes.ask(place.node, question) { answer in
            let sentence =
                "Node \(place.node), which has the device \(place.device), has not answered: look what has "
                + "become of the device, and try again."
            respond(answer ?? ControlHandler.refusal(503, sentence))
        }
    }

    private func listAll(_ selection: DeviceSelection, _ query: String, _ respond: @escaping Respond) {
        queries.nodes.askAll(.devices(query: query)) { [self] answers in
            let parts = answers.read(as: [Control.Device].self)
            let devices = Array(selection.sorted(parts.all.flatMap { $0 }))
            queries.nodes.findSuccessors(of: devices) { [self] devices, missing in
                let gap = DeviceSearch.gap(parts.missing(missing), isMoving: isMoving)
                respond(ControlHandler.answer(devices, gap: gap))
            }
        }
    }

    /// Whether some partitions have no node at the moment.
    private var isMoving: Bool { context.outbox.places?.hasGaps == true }

    // MARK: Requests

    private static func selection(_ query: Substring) throws(DeviceDirectory.Refusal) -> DeviceSelection {
        do throws(DeviceSelection.Mistake) {
            return try DeviceSelection(query)
        } catch {
            throw DeviceDirectory.Refusal(status: 400, sentence: error.sentence)
        }
    }

    /// `GET /v1/devices?connected=…&away-for=…&device=…&tag=…&topic=…&sort=…&limit=…`.
    private func listDevices(_ query: Substring, _ respond: @escaping Respond) throws(DeviceDirectory.Refusal)
    {
        let selection = try Self.selection(query)
        guard queries.nodes.cluster != nil else {
            let named = try directory.devices(named: selection.names, tagged: selection.tags)
            return list(selection, named, respond)
        }
        guard !selection.names.isEmpty else { return listAll(selection, String(query), respond) }
        search(selection.names, respond) { [self] search throws(DeviceDirectory.Refusal) in
            var words = query.split(separator: "&").filter { !$0.hasPrefix("device=") }.map(String.init)
            for name in selection.names { words.append("device=\(try search.place(of: name).device)") }
            listAll(selection, words.joined(separator: "&"), respond)
        }
    }

    /// Lists the devices of this node: these, if the selection has names or tags.
    private func list(
        _ selection: DeviceSelection, _ named: Set<DeviceIdentity>, _ respond: @escaping Respond
    ) {
        var filter = selection.filter
        if !selection.names.isEmpty || !selection.tags.isEmpty { filter.only = named }
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

    private func removeDevice(_ text: String, _ respond: @escaping Respond) throws(DeviceDirectory.Refusal) {
        guard queries.nodes.cluster != nil else { return remove(try directory.known(text), respond) }
        search([text], respond) { [self] search throws(DeviceDirectory.Refusal) in
            let place = try search.place(of: text)
            ask(place, .remove(place.device)) { [queries] answer in
                guard let name = place.name, let removed = try? answer.decoded(Control.RemovedDevice.self),
                    removed.heir == nil
                else { return respond(answer) }
                queries.nodes.findHeir(of: name) { heir in
                    respond(
                        ControlHandler.answer(Control.RemovedDevice(identity: removed.identity, heir: heir)))
                }
            }
        }
    }

    private func remove(_ identity: DeviceIdentity, _ respond: @escaping Respond) {
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
        guard queries.nodes.cluster != nil else {
            let device = try directory.known(text)
            return change(device, try Self.change(in: body), respond)
        }
        let name = try Self.change(in: body).name
        search([text] + (name.map { [$0.text] } ?? []), respond) {
            [self] search throws(DeviceDirectory.Refusal) in
            let place = try search.place(of: text)
            if let name { try search.checkFree(name, for: place.device) }
            ask(place, .change(place.device, body), respond)
        }
    }

    private static func change(in body: [UInt8]) throws(DeviceDirectory.Refusal) -> DeviceDirectory.Change {
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
        return change
    }

    private func change(
        _ device: DeviceIdentity, _ change: DeviceDirectory.Change, _ respond: @escaping Respond
    ) {
        directory.change(device, change) { result in
            switch result {
            case .success(let entry): respond(ControlHandler.answer(Control.LabelledDevice(entry)))
            case .failure(let refusal): respond(ControlHandler.refusal(refusal.status, refusal.sentence))
            }
        }
    }

    private static func tags(_ words: [String]) throws(DeviceDirectory.Refusal) -> [DeviceTag] {
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
