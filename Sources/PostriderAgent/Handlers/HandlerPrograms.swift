import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Starts the handlers of topics whose manifests have one: a program or a unit for each notification. To the agent,
/// the handler of a topic is an app with one stream.
///
///     AppDeliveries ─ send ─▶ AppStream ─▶ HandlerQueue ─▶ program: payload on stdin, POSTRIDER_* ─▶ exit code
///         ▲─ handled (0) · postponed (75) · failed (any other, or a signal) ─────────────────────────┘
///
/// A notification that its handler has not handled stays in the inbox, even if the agent is killed.
final class HandlerPrograms {
    private let registrations: AppRegistrations
    private let deliveries: AppDeliveries
    private let programs: any HandlerLauncher
    private let units: any HandlerLauncher
    private let log: Log
    private var topics: [String: HandlerTopic] = [:]
    /// Topics whose manifests are gone, while their last runs end.
    private var leaving: [HandlerTopic] = []
    private var whenStopped: (() -> Void)?
    private let scheduler: any Scheduler

    init(
        _ manifests: [AppManifest], registrations: AppRegistrations, deliveries: AppDeliveries,
        programs: any HandlerLauncher, units: any HandlerLauncher, scheduler: any Scheduler, log: Log
    ) {
        self.registrations = registrations
        self.deliveries = deliveries
        self.programs = programs
        self.units = units
        self.scheduler = scheduler
        self.log = log
        for manifest in manifests where manifest.handler != nil { add(manifest) }
    }

    private func add(_ manifest: AppManifest) {
        guard let handler = manifest.handler else { return }
        let launcher = handler.unit == nil ? programs : units
        let topic = HandlerTopic(
            manifest, handler, registrations: registrations, deliveries: deliveries, launcher: launcher,
            scheduler: scheduler, log: log, whenIdle: { [unowned self] in checkEnd() })
        topics[manifest.topic] = topic
    }

    /// Registers the topics and begins to handle what waits for them.
    func start() { for topic in topics.values { topic.begin() } }

    /// Takes new manifests. A changed manifest is followed from the handler's next run on; the runs of a handler whose
    /// manifest is gone are ended. Returns the topics that were added and removed.
    func declare(_ manifests: [AppManifest]) -> (added: [String], removed: [String]) {
        let present = Set(topics.keys)
        let declared = manifests.filter { $0.handler != nil }
        for manifest in declared {
            guard let topic = topics[manifest.topic], let handler = manifest.handler,
                topic.accepts(manifest, handler)
            else {
                leave(manifest.topic)
                add(manifest)
                topics[manifest.topic]?.begin()
                continue
            }
        }
        let names = Set(declared.map(\.topic))
        for name in present.subtracting(names) { leave(name) }
        return (names.subtracting(present).sorted(), present.subtracting(names).sorted())
    }

    private func leave(_ name: String) {
        guard let topic = topics.removeValue(forKey: name) else { return }
        leaving.append(topic)
        topic.stop()
        checkEnd()
    }

    /// Asks all programs to end, and leaves units running; calls `whenStopped` when no program is left.
    func stop(_ whenStopped: @escaping () -> Void) {
        for topic in topics.values { topic.stop() }
        self.whenStopped = whenStopped
        checkEnd()
    }

    private func checkEnd() {
        leaving.removeAll(where: \.isIdle)
        guard let whenStopped, leaving.isEmpty, topics.values.allSatisfy(\.isIdle) else { return }
        self.whenStopped = nil
        whenStopped()
    }

    /// The topics that have a handler.
    var names: [String] { Array(topics.keys) }

    /// The manifest of a topic that has a handler.
    func manifest(of topic: String) -> AppManifest? { topics[topic]?.manifest }

    /// What a topic's handler is doing, as a word; nil if it has none.
    func state(of topic: String) -> String? {
        topics[topic].map { $0.isIdle ? "handler" : "handler runs" }
    }

    /// The process of a topic's oldest run.
    func process(of topic: String) -> Int32? { topics[topic]?.process }
}
