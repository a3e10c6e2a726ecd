import PostriderTransport

/// The figures of the last hour, every ten seconds, for the plots of consoles. It lives on shard 0.
final class StatusHistory {
    private let context: ShardContext
    private let queries: ShardQueries
    private var points: [Control.HistoryPoint] = []
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in take() }

    private static let most = 360

    init(_ context: ShardContext, _ queries: ShardQueries) {
        self.context = context
        self.queries = queries
    }

    /// Takes the first figures, and from then on more.
    func start() { take() }

    /// `GET /v1/history`, for this node alone.
    var answer: Control.History { Control.History(points: points) }

    private func take() {
        timer.arm(afterMilliseconds: Control.History.milliseconds)
        queries.ask(.tally) { [weak self] replies in
            guard let self else { return }
            var report = ShardReport()
            for case .tally(let part) in replies { report += part }
            if points.count == Self.most { points.removeFirst() }
            points.append(Control.HistoryPoint(report, at: context.now))
        }
    }
}

extension Control.History {
    /// The time between two points.
    static let milliseconds = 10_000

    /// The sums of several nodes' figures, at the times of the first one. At such a time another node has the figures
    /// that it took last, by its own clock, and none before its first ones.
    init(of first: Control.History, and others: [Control.History]) {
        points = first.points
        for other in others {
            var later = other.points[...]
            var last: Control.HistoryPoint?
            for index in points.indices {
                let end = points[index].at + Int64(Self.milliseconds / 2)
                while let point = later.first, point.at <= end { last = later.removeFirst() }
                if let last { points[index].add(last) }
            }
        }
    }
}

extension Control.HistoryPoint {
    fileprivate mutating func add(_ other: Control.HistoryPoint) {
        accepted += other.accepted
        refused += other.refused
        delivered += other.delivered
        pending += other.pending
        connected += other.connected
        providers += other.providers
    }
}
