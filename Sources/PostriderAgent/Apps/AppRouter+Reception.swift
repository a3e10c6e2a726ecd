import PostriderCourier
import PostriderNotifications

// What the relay is told of how the device wants to be sent what waits.
extension AppRouter {
    /// Says it anew where an app has come or gone, or may what it might not, since the last time.
    func sayReception() {
        guard isReceptionStale else { return }
        isReceptionStale = false
        let apps = state.apps.records.values.filter(\.isWanted).map { record in
            let topic = record.topic.text
            let kept = keeper?.status(of: topic)?.supervisor
            return ReceptionPolicy.App(
                topic: topic, isAttached: attachments[topic] != nil,
                isStartable: keeper?.isDeclared(topic) == true && kept?.isCrashLooping == false,
                mayRunInBackground: kept?.manifest.mayRunInBackground == true,
                status: state.centers[record.number]?.status ?? .notDetermined)
        }
        line?.send(.reception(ReceptionPolicy.reception(of: apps, savesPower: savesPower)))
    }
}
