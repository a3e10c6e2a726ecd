import PostriderCourier
import PostriderNotifications

// The delivery preferences of the device, as the relay is told them.
extension AppRouter {
    /// Sends the preferences again if apps have attached or detached, or permissions have changed, since they were sent
    /// last.
    func sayReception() {
        guard isReceptionStale else { return }
        isReceptionStale = false
        let apps = state.apps.records.values.filter(\.isWanted).map { record in
            let topic = record.topic.text
            let kept = lifecycle?.status(of: topic)?.supervisor
            return ReceptionPolicy.App(
                topic: topic, isAttached: attachments[topic] != nil,
                isStartable: lifecycle?.isDeclared(topic) == true && kept?.isCrashLooping == false,
                mayRunInBackground: kept?.manifest.mayRunInBackground == true,
                status: state.centers[record.number]?.status ?? .notDetermined)
        }
        link?.send(.reception(ReceptionPolicy.reception(of: apps, savesPower: savesPower)))
    }
}
