import PostriderTransport

/// The figures of the last hour, every ten seconds, for the plots of the console. It lives on shard 0.
final class StatusHistory {
    private let context: ShardContext
    private let queries: ShardQueries
    private var points: [Control.HistoryPoint] = []
    private lazy var timer = context.scheduler.makeTimer { [unowned self] in take() }

    private static let milliseconds = 10_000
    private static let most = 360

    init(_ context: ShardContext, _ queries: ShardQueries) {
        self.context = context
        self.queries = queries
    }

    /// Takes the first figures, and from then on more.
    func start() { take() }

    /// `GET /v1/history`.
    var answer: Control.History { Control.History(points: points) }

    private func take() {
        timer.arm(afterMilliseconds: Self.milliseconds)
        queries.ask(.tally) { [weak self] replies in
            guard let self else { return }
            var report = ShardReport()
            for case .tally(let part) in replies { report += part }
            if points.count == Self.most { points.removeFirst() }
            points.append(Control.HistoryPoint(report, at: context.now))
        }
    }
}
