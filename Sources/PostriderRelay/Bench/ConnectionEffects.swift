import PostriderEndpoints
import PostriderHTTP2
import PostriderRules
import PostriderTransport

/// What rules do to one provider's connection on a relay for tests: SETTINGS, a window that is not opened, a socket
/// that is not read.
final class ConnectionEffects {
    /// Bytes of bodies for which the provider has got no window; nil while windows open as usual.
    private var withheld: Int?
    private var windowTimer: (any LoopTimer)?
    private var readingTimer: (any LoopTimer)?
    /// Settings that get their first values again; each is in one of these at most.
    private var restorations: [Restoration] = []
    private var lastRestoration = 0

    /// Settings that get their first values again at the same time.
    private struct Restoration {
        let number: Int
        var settings: [ConnectionSetting]
        let timer: any LoopTimer
    }

    /// Does to the connection what a rule says.
    func begin(_ effect: ConnectionEffect, on endpoint: HTTP2Handler, _ scheduler: any Scheduler) {
        if let change = effect.settings {
            let values = change.values.map { (ConnectionSetting($0.setting), $0.value) }
            endpoint.streams.update(values)
            restore(values.map(\.0), after: change.time, on: endpoint, scheduler)
        }
        if let limit = effect.window {
            withheld = withheld ?? 0
            endpoint.streams.update([(.initialWindowSize, UInt32(limit.bytes))])
            windowTimer = timer(limit.time, scheduler) { [unowned self, unowned endpoint] in
                endpoint.streams.restore([.initialWindowSize])
                endpoint.streams.consumeOnConnection(withheld ?? 0)
                withheld = nil
            }
        }
        if let time = effect.stopsReading {
            endpoint.wire?.pauseReading()
            readingTimer = timer(time, scheduler) { [unowned endpoint] in endpoint.wire?.resumeReading() }
        }
    }

    /// Lets settings have their first values again after a time, and forgets earlier times for them.
    private func restore(
        _ settings: [ConnectionSetting], after time: TimeLimit, on endpoint: HTTP2Handler,
        _ scheduler: any Scheduler
    ) {
        for index in restorations.indices { restorations[index].settings.removeAll(where: settings.contains) }
        restorations.removeAll(where: \.settings.isEmpty)
        lastRestoration += 1
        let number = lastRestoration
        let timer = timer(time, scheduler) { [unowned self, unowned endpoint] in
            guard let index = restorations.firstIndex(where: { $0.number == number }) else { return }
            endpoint.streams.restore(restorations.remove(at: index).settings)
        }
        if let timer { restorations.append(Restoration(number: number, settings: settings, timer: timer)) }
    }

    /// A part of a body was received: the provider may send as much again, unless a rule limits its window.
    func received(_ byteCount: Int, on stream: Int32, of streams: HTTP2Connection) {
        if let withheld { self.withheld = withheld + byteCount } else { streams.consume(stream, byteCount) }
    }

    /// A timer for the end of a time; nil if the time has no end.
    private func timer(
        _ time: TimeLimit, _ scheduler: any Scheduler, _ work: @escaping () -> Void
    ) -> (any LoopTimer)? {
        guard case .milliseconds(let milliseconds) = time else { return nil }
        let timer = scheduler.makeTimer(work)
        timer.arm(afterMilliseconds: milliseconds)
        return timer
    }
}

extension ConnectionSetting {
    /// The parameter that a rule means.
    fileprivate init(_ setting: SettingsChange.Setting) {
        switch setting {
        case .maxConcurrentStreams: self = .maxConcurrentStreams
        case .initialWindowSize: self = .initialWindowSize
        case .maxFrameSize: self = .maxFrameSize
        case .headerTableSize: self = .headerTableSize
        case .maxHeaderListSize: self = .maxHeaderListSize
        }
    }
}
