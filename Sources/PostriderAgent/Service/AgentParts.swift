import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderSchedules
import PostriderTransport

/// The parts of an agent that its ``AppRouter`` passes events to, made in the order in which they depend on each other:
/// none knows one that is made after it.
struct AgentParts {
    /// What is outside of the parts.
    struct Surroundings {
        /// The link to the relay.
        let link: any OutboundLink
        /// Starts apps.
        let launcher: any AppLauncher
        /// Delays the device's sleep; nil if nobody tells when the device sleeps.
        var sleepLock: (any SleepLock)?
        /// The bus of the desktop; nil if there is none.
        var desktop: ReconnectingBus?
        /// Starts service extensions; nil if alerts are shown unchanged.
        var runner: (any ProgramRunner)?
        /// Reads the device's clocks; nil if nobody can tell what happened to them while no agent ran.
        var readClock: () -> ClockReading? = { nil }
        /// For how many milliseconds after its moment a local notification is still delivered.
        var latenessMilliseconds = LocalNotifications.usualLatenessMilliseconds
        /// The time zone of the device.
        var zone: () -> ZoneRules = { ZoneDirectory().current }
        /// Draws 64 random bits.
        let random: () -> UInt64
        /// Reads the time and makes timers.
        let scheduler: any Scheduler
        /// Where all parts write to.
        let log: Log
    }

    let state: AgentState
    let trouble: StateTrouble
    let declared: DeclaredApps
    let streams: AttachedStreams
    let reporter: Reporter
    let lifecycle: AppLifecycle
    let reception: ReceptionSender
    let deliveries: AppDeliveries
    let authorizations: Authorizations
    let center: LocalNotifications
    let system: SystemEvents
    let registrations: AppRegistrations
    let channels: ChannelSubscriptions
    let presenter: Presenter

    /// The parts over this state.
    ///
    /// - Parameter trouble: writes to the log while the disk refuses changes.
    init(_ state: AgentState, declared: DeclaredApps, trouble: StateTrouble, in outside: Surroundings) {
        let (link, scheduler, log) = (outside.link, outside.scheduler, outside.log)
        let (streams, changes) = (AttachedStreams(), TurnChanges())
        let redelivery = RedeliveryQueue(scheduler, streams: streams)
        let admission = AppAdmission(state, declared: declared)
        self.state = state
        self.trouble = trouble
        self.declared = declared
        self.streams = streams
        reporter = Reporter(over: link, state.reports, scheduler: scheduler, trouble: trouble)
        lifecycle = AppLifecycle(
            declared.manifests.values.filter { $0.handler == nil }, state: state, streams: streams,
            reasons: LaunchReasons(state: state, redelivery: redelivery, trouble: trouble), trouble: trouble,
            launcher: outside.launcher, scheduler: scheduler, log: log, random: outside.random)
        reception = ReceptionSender(state, streams: streams, lifecycle: lifecycle, link: link)
        deliveries = AppDeliveries(
            state, declared: declared, streams: streams, changes: changes, redelivery: redelivery,
            lifecycle: lifecycle, reporter: reporter, link: link, trouble: trouble, scheduler: scheduler,
            log: log)
        authorizations = Authorizations(
            state, declared: declared, admission: admission, streams: streams, trouble: trouble, log: log)
        center = LocalNotifications(
            state, authorizations: authorizations, streams: streams, trouble: trouble,
            readClock: outside.readClock, latenessMilliseconds: outside.latenessMilliseconds,
            zone: outside.zone, scheduler: scheduler, log: log)
        system = SystemEvents(
            streams, relayLink: link, sleepLock: outside.sleepLock,
            zoneName: { [zone = outside.zone] in zone().identifier }, scheduler: scheduler, log: log)
        registrations = AppRegistrations(
            state, admission: admission, authorizations: authorizations, streams: streams, changes: changes,
            lifecycle: lifecycle, system: system, center: center, link: link, trouble: trouble, log: log)
        channels = ChannelSubscriptions(
            state, admission: admission, streams: streams, link: link, trouble: trouble, log: log)
        presenter = Presenter(
            state, declared: declared, authorizations: authorizations, streams: streams,
            outcomes: AlertOutcomes(
                state, center: center, lifecycle: lifecycle, reporter: reporter, trouble: trouble,
                scheduler: scheduler),
            trouble: trouble, bus: outside.desktop, runner: outside.runner, scheduler: scheduler, log: log)
    }

    /// Every topic may have something to be handed over.
    func markAllDue() {
        for topic in state.apps.records.keys { streams.markDue(topic) }
    }
}
