import PostriderNotifications
import PostriderTransport

/// Finds apps whose handlers do not return: they delay everything that arrives for them.
///
/// An app's time begins when a delivery is under way, and begins anew whenever it settles one. An app that has settled
/// none within the time of its manifest is reported as stuck.
final class HandlerWatch {
    private let boundMilliseconds: (_ topic: String) -> Int?
    private let stuck: (_ stream: AppStream, _ busy: AppStream.Business) -> Void
    private let scheduler: any Scheduler
    private let log: Log
    private var streams: [ObjectIdentifier: Watched] = [:]
    private lazy var timer = scheduler.makeTimer { [unowned self] in look() }

    private struct Watched {
        let stream: AppStream
        /// The beginning of the busy time that has been logged.
        var told: UInt64?
    }

    /// - Parameters:
    ///   - boundMilliseconds: how many milliseconds an app may take for a delivery; nil for no bound.
    ///   - stuck: called when a stream has been busy for too long. If it is watched again, the call is repeated later.
    init(
        _ scheduler: any Scheduler, log: Log, boundMilliseconds: @escaping (_ topic: String) -> Int?,
        stuck: @escaping (_ stream: AppStream, _ busy: AppStream.Business) -> Void
    ) {
        self.scheduler = scheduler
        self.log = log
        self.boundMilliseconds = boundMilliseconds
        self.stuck = stuck
    }

    /// Watches a stream while deliveries are under way.
    func watch(_ stream: AppStream) {
        guard stream.busySince != nil, streams[ObjectIdentifier(stream)] == nil else { return }
        streams[ObjectIdentifier(stream)] = Watched(stream: stream)
        if !timer.isArmed { arm() }
    }

    /// A stream has ended.
    func forget(_ stream: AppStream) { streams[ObjectIdentifier(stream)] = nil }

    private func look() {
        for (key, watched) in streams {
            guard let business = watched.stream.business(at: scheduler.now) else {
                streams[key] = nil
                continue
            }
            if let bound = boundMilliseconds(business.topic), business.milliseconds >= bound {
                streams[key] = nil
                stuck(watched.stream, business)
            } else if business.milliseconds >= Limits.handlerNoticeMilliseconds,
                watched.told != watched.stream.busySince
            {
                streams[key]?.told = watched.stream.busySince
                log.notice("\(business.topic) \(business)", fields: .init(topic: "\(business.topic)"))
            }
        }
        arm()
    }

    /// Sets the timer to the first moment at which a stream may have to be logged or is stuck.
    private func arm() {
        let waits = streams.values.compactMap { watched -> Int? in
            guard let business = watched.stream.business(at: scheduler.now) else { return 0 }
            let bound = boundMilliseconds(business.topic)
            let notice = watched.told == watched.stream.busySince ? nil : Limits.handlerNoticeMilliseconds
            return [bound, notice].compactMap { $0 }.min().map { max(0, $0 - business.milliseconds) }
        }
        if let wait = waits.min() { timer.arm(afterMilliseconds: wait + 1) } else { timer.disarm() }
    }
}

extension AppStream {
    /// What an app has been busy with since it last settled a delivery.
    struct Business: Equatable, CustomStringConvertible {
        /// The topic of the oldest delivery under way.
        let topic: String
        /// For how many milliseconds.
        let milliseconds: Int
        /// How many deliveries are under way.
        let count: Int

        /// "has been busy for 75 s with 1 notification".
        var description: String {
            "has been busy for \(milliseconds / 1000) s with \(count) notification\(count == 1 ? "" : "s")"
        }
    }
}
