import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// Joins the link to the relay and the apps of the device: passes what arrives to whoever is in charge of it, and ends
/// each turn of the loop.
///
///     relay ═ RelayLink ─LinkEvent──▶ AppRouter ─▶ AppRegistrations, ChannelSubscriptions, AppDeliveries
///     app ═ AppSession ─AppMessage─▶           ─▶ LocalNotifications, Presenter, SystemEvents
///
/// All changes of one turn of the loop are committed together.
final class AppRouter {
    private let parts: AgentParts
    private let scheduler: any Scheduler
    /// The distributor of UnifiedPush; nil if there is none.
    var distributor: Distributor?
    /// Armed while the disk refuses a commit.
    private lazy var retry = scheduler.makeTimer { [unowned self] in endTurn() }
    /// Armed while the disk has no room to copy the write-ahead log into the database.
    private lazy var copying = scheduler.makeTimer { [unowned self] in endTurn(copiesLog: true) }

    private static let retryMilliseconds = 1000

    /// A router between these parts.
    init(_ parts: AgentParts, scheduler: any Scheduler) {
        self.parts = parts
        self.scheduler = scheduler
    }

    /// Processes a message of an app.
    ///
    /// - Throws: ``CourierError`` if the app has violated the protocol.
    func receive(_ message: AppMessage, from stream: AppStream) throws(CourierError) {
        switch message {
        case .register(let topic, let environment):
            parts.registrations.register(topic, in: environment, for: stream)
        case .unregister(let topic): parts.registrations.unregister(topic, for: stream)
        case .handled(let deliveries):
            guard parts.deliveries.handled(deliveries, by: stream) else {
                throw .outOfOrder("A delivery is handled once, and while it is under way.")
            }
        case .attach(let topic): parts.registrations.attach(topic, for: stream)
        case .center(let call): parts.center.take(call, from: stream)
        case .subscribe(let wish): parts.channels.subscribe(wish, for: stream)
        case .unsubscribe(let wish): parts.channels.unsubscribe(wish, for: stream)
        case .failed(let failed):
            guard parts.deliveries.failed(failed, by: stream) else {
                throw .outOfOrder("A delivery fails once, and while it is under way.")
            }
        case .ready(let sleep): parts.system.ready(stream, for: sleep)
        case .presentationWish(let wish): parts.registrations.wish(wish, from: stream)
        case .presentation(let presentation): parts.presenter.take(presentation, from: stream)
        case .unknown: break
        }
    }

    /// Processes an event of the link to the relay.
    func receive(_ event: LinkEvent) {
        switch event {
        case .changed(let change): parts.system.tell(.link(change))
        case .connected(let welcome):
            parts.center.relayShows(Moment(milliseconds: welcome.nowMilliseconds))
            parts.registrations.welcomed(welcome.registrations)
            distributor?.welcomed(welcome.webPushURL)
            parts.channels.subscribeAnew()
            parts.reporter.linkIsUp()
        case .ended:
            parts.deliveries.linkEnded()
            parts.reporter.linkEnded()
        case .confirmed: parts.reporter.confirmed()
        case .registered(let registration): parts.registrations.registered(registration)
        case .unregistered(let topic): parts.registrations.unregistered(topic)
        case .refused(let refusal): parts.registrations.refused(refusal)
        case .delivered(let deliver): parts.deliveries.delivered(deliver)
        case .broadcast(let deliver): parts.deliveries.broadcast(deliver)
        case .subscribed(let channel): parts.channels.subscribed(to: channel)
        case .unsubscribed(let end): parts.channels.unsubscribed(end)
        }
    }

    /// An app's stream has ended. What was under way on it waits again, for the stream that is now the newest.
    ///
    /// - Parameter isBroken: whether its connection broke.
    func left(_ stream: AppStream, isBroken: Bool = false) {
        parts.authorizations.left(stream)
        parts.system.left(stream)
        parts.deliveries.left(stream, isBroken: isBroken)
        parts.registrations.left(stream)
    }

    /// Commits the changes of the turn, then acknowledges them, then hands over what is due.
    func endTurn(copiesLog: Bool = false) {
        if !parts.deliveries.commit() { retry.arm(afterMilliseconds: Self.retryMilliseconds) }
        if parts.state.boundLog(isAnotherAttempt: copiesLog), !copying.isArmed {
            copying.arm(afterMilliseconds: Limits.logRetryMilliseconds)
        }
        parts.trouble.look()
        parts.presenter.present()
        parts.deliveries.handOver()
        parts.reception.sendIfStale()
    }
}
