import PostriderNotifications
import PostriderTransport

/// Finds apps whose handlers do not return: they hold up everything that comes for them.
///
/// An app is busy from the moment at which something is under way to it, and anew from each delivery that it settles.
/// One that has settled nothing for so long as its manifest allows is ``stuck``.
final class HandlerWatch {
    /// How long an app may be busy with one delivery, in milliseconds; nil: as long as it likes.
    var boundMilliseconds: (_ topic: String) -> Int? = { _ in Limits.handlerSeconds.usual * 1000 }
    /// Called once with a stream that has been busy for so long; one that is still watched then is asked about again.
    var stuck: ((_ stream: AppStream, _ busy: AppStream.Business) -> Void)?

    private let scheduler: any Scheduler
    private let log: Log
    private var streams: [ObjectIdentifier: Watched] = [:]
    private lazy var timer = scheduler.makeTimer { [unowned self] in look() }

    private struct Watched {
        let stream: AppStream
        /// The beginning of the business that the log has been told of.
        var told: UInt64?
    }

    init(_ scheduler: any Scheduler, log: Log) {
        self.scheduler = scheduler
        self.log = log
    }

    /// Watches a stream while it is busy.
    func watch(_ stream: AppStream) {
        guard stream.busySince != nil, streams[ObjectIdentifier(stream)] == nil else { return }
        streams[ObjectIdentifier(stream)] = Watched(stream: stream)
        if !timer.isArmed { arm() }
    }

    /// A stream is gone.
    func forget(_ stream: AppStream) { streams[ObjectIdentifier(stream)] = nil }

    private func look() {
        for (key, watched) in streams {
            guard let business = watched.stream.business(at: scheduler.now) else {
                streams[key] = nil
                continue
            }
            if let bound = boundMilliseconds(business.topic), business.milliseconds >= bound {
                streams[key] = nil
                stuck?(watched.stream, business)
            } else if business.milliseconds >= Limits.handlerNoticeMilliseconds,
                watched.told != watched.stream.busySince
            {
                streams[key]?.told = watched.stream.busySince
                log.notice("\(business.topic) \(business)")
            }
        }
        arm()
    }

    /// Looks again when the first stream may be told of, or stuck.
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
    /// What an app has been busy with, without settling any of it.
    struct Business: Equatable, CustomStringConvertible {
        /// The topic of what has been under way for longest.
        let topic: String
        /// For how long.
        let milliseconds: Int
        /// How many notifications are under way.
        let count: Int

        /// "has been busy for 75 s with 1 notification".
        var description: String {
            "has been busy for \(milliseconds / 1000) s with \(count) notification\(count == 1 ? "" : "s")"
        }
    }
}
