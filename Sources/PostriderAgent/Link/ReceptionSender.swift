import PostriderCourier
import PostriderNotifications

/// Tells the relay the delivery preferences of the device.
final class ReceptionSender {
    /// Whether the device saves power.
    var savesPower = false {
        didSet { if savesPower != oldValue { streams.isReceptionStale = true } }
    }

    /// The charge of the device's battery in percent; nil if it has none.
    var batteryPercent: Int? {
        didSet { if batteryPercent != oldValue { streams.isReceptionStale = true } }
    }

    private let state: AgentState
    private let streams: AttachedStreams
    private let lifecycle: AppLifecycle
    private let link: any OutboundLink

    init(_ state: AgentState, streams: AttachedStreams, lifecycle: AppLifecycle, link: any OutboundLink) {
        self.state = state
        self.streams = streams
        self.lifecycle = lifecycle
        self.link = link
    }

    /// Sends the preferences again if apps have attached or detached, or permissions have changed, since they were sent
    /// last.
    func sendIfStale() {
        guard streams.isReceptionStale else { return }
        streams.isReceptionStale = false
        let apps = state.apps.records.values.filter(\.isWanted).map { record in
            let topic = record.topic.text
            let kept = lifecycle.status(of: topic)?.supervisor
            return ReceptionPolicy.App(
                topic: topic, isAttached: streams.attachments[topic] != nil,
                isStartable: lifecycle.isDeclared(topic) && kept?.isCrashLooping == false,
                mayRunInBackground: kept?.manifest.mayRunInBackground == true,
                status: state.centers[record.number]?.status ?? .notDetermined)
        }
        link.send(
            .reception(
                ReceptionPolicy.reception(of: apps, savesPower: savesPower, batteryPercent: batteryPercent)))
    }
}
