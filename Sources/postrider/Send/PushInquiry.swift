import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderTransport

/// Asks the relay's port for providers how far pushes have come, with a key that may ask: `GET /3/pushes/<apns-id>`.
struct PushInquiry: Sendable {
    private let request: ProviderRequest
    private let stage: PushProgress.Stage

    /// The most pushes about which one command asks. The relay answers a key only so often.
    static let mostPushes = 100

    init(_ request: ProviderRequest, _ stage: PushProgress.Stage) {
        (self.request, self.stage) = (request, stage)
    }

    /// Throws if the relay does not answer questions of this key.
    ///
    /// - Parameter identity: an `apns-id`, which the relay need not know.
    func check(_ identity: String) async throws {
        let answer = try await request.response(to: "/3/pushes/\(identity)?timeout=0")
        guard answer.status != 200, !PushQuestions.passes(answer.status) else { return }
        throw refusal(answer)
    }

    fileprivate func refusal(_ answer: RequestClient.Response) -> CommandFailure {
        request.refusal(answer, "ask about pushes")
    }

    /// Asks until all pushes are settled or the time is over, and returns the board with the answers.
    ///
    /// - Parameters:
    ///   - elapsed: milliseconds since the beginning of the command.
    ///   - milliseconds: the time of the command.
    func run(
        _ board: WaitBoard, _ screen: WaitScreen, from elapsed: Int, untilMilliseconds milliseconds: Int
    ) async throws -> (WaitBoard, WaitScreen) {
        guard !board.isOver, elapsed < milliseconds else { return (board, screen) }
        return try await LoopThread.run("wait") { loop in
            let questions = PushQuestions(self, request, stage, board, screen, on: loop)
            questions.begin(elapsed: elapsed, until: milliseconds)
            return {
                if let failure = questions.failure { throw failure }
                return (questions.board, questions.screen)
            }
        }
    }
}

/// The questions of one ``PushInquiry``, on its loop: a few at a time, each of which waits at the relay.
private final class PushQuestions {
    private let inquiry: PushInquiry
    private let request: ProviderRequest
    private let stage: PushProgress.Stage
    private unowned let loop: EventLoop
    private var client: RequestClient?
    /// Pushes that are not settled and about which nothing is asked now.
    private var queue: [Int]
    private var open = 0
    private var times = Times()
    private var pause: (any LoopTimer)?
    private var end: (any LoopTimer)?
    private(set) var board: WaitBoard
    private(set) var screen: WaitScreen
    private(set) var failure: CommandFailure?

    private struct Times {
        var elapsedAtStart = 0
        var start: UInt64 = 0
        var untilMilliseconds = 0
    }

    /// Questions that wait at the same time. The relay permits 16 on a connection.
    private static let mostOpen = 8
    /// How long a question waits while others are queued behind it.
    private static let turnSeconds = 5
    private static let pauseMilliseconds = 1000

    init(
        _ inquiry: PushInquiry, _ request: ProviderRequest, _ stage: PushProgress.Stage, _ board: WaitBoard,
        _ screen: WaitScreen, on loop: EventLoop
    ) {
        (self.inquiry, self.request, self.stage, self.board) = (inquiry, request, stage, board)
        (self.screen, self.loop) = (screen, loop)
        queue = board.entries.indices.filter { board.entries[$0].state(stage) == .underWay }
    }

    func begin(elapsed: Int, until milliseconds: Int) {
        times = Times(elapsedAtStart: elapsed, start: loop.now, untilMilliseconds: milliseconds)
        pause = loop.makeTimer { [unowned self] in fill() }
        end = loop.makeTimer { [unowned loop] in loop.stop() }
        end?.arm(afterMilliseconds: milliseconds - elapsed)
        screen.draw(board)
        fill()
    }

    /// Whether a status says that the same question may be answered later.
    static func passes(_ status: Int) -> Bool { status == 429 || status == 503 }

    private var elapsed: Int { times.elapsedAtStart + Int((loop.now - times.start) / 1_000_000) }

    private func fill() {
        while open < Self.mostOpen, pause?.isArmed == false, failure == nil, let index = queue.first {
            queue.removeFirst()
            let left = max(times.untilMilliseconds - elapsed, 0) / 1000 + 1
            ask(index, seconds: min(left, queue.isEmpty ? Limits.waitSeconds.most : Self.turnSeconds))
        }
    }

    private func ask(_ index: Int, seconds: Int) {
        let client =
            client.flatMap { $0.takesRequests ? $0 : nil } ?? RequestClient(to: request.relay, on: loop)
        self.client = client
        let path =
            "/3/pushes/\(board.entries[index].identity)?wait=\(stage.rawValue)&timeout=\(seconds)"
        open += 1
        do throws(ClientError) {
            try client.send(
                request.head(path, client, loop), timeoutMilliseconds: (seconds + 10) * 1000
            ) { [unowned self] in answered($0, index) }
        } catch {
            answered(.failure(error), index)
        }
    }

    private func answered(_ result: Result<RequestClient.Response, ClientError>, _ index: Int) {
        open -= 1
        if case .success(let answer) = result, !Self.passes(answer.status) {
            take(answer, index)
        } else {
            // The relay is being restarted, or the key has asked too often.
            if case .failure = result { client = nil }
            pause?.arm(afterMilliseconds: Self.pauseMilliseconds)
        }
        if board.entries[index].state(stage) == .underWay { queue.append(index) }
        screen.draw(board)
        guard !board.isOver, failure == nil else { return loop.stop() }
        fill()
    }

    private func take(_ answer: RequestClient.Response, _ index: Int) {
        guard answer.status == 200 else {
            failure = inquiry.refusal(answer)
            return
        }
        guard let state = try? JSONDecoder().decode(Control.PushState.self, from: Data(answer.body)) else {
            failure = CommandFailure(
                "The relay at \(request.relay.destination) speaks another version: use the program that it "
                    + "is of.")
            return
        }
        board.take(state, of: index, after: elapsed)
    }
}
