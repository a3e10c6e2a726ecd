import Testing

@testable import PostriderClients
@testable import PostriderCommands
@testable import PostriderRelay
@testable import postrider

@Suite("The board of pushes that are waited for")
struct WaitBoardTests {
    private func board(_ count: Int, _ stage: PushProgress.Stage = .done, quorum: Double = 100) -> WaitBoard {
        var board = WaitBoard(
            (0..<count).map { (SendTarget(token: "t\($0)"), "i\($0)") }, stage, quorum: quorum)
        for index in 0..<count {
            let outcome = PushOutcome(status: 200, identity: "I\(index)", reason: nil, timestamp: nil)
            board.take(.success(outcome), of: index, after: 1)
        }
        return board
    }

    private func happen(_ what: String, to indexes: Range<Int>, on board: inout WaitBoard) {
        for index in indexes {
            var event = Control.TracedEvent(row: 0, at: 0, what: what)
            event.identity = "I\(index)"
            let feed = Control.TraceFeed(pushes: [], events: [event], cursor: "", lost: 0)
            board.take(feed, after: 5)
        }
    }

    @Test("ends with 0 when all have come so far")
    func all() {
        var board = board(3)
        happen("done", to: 0..<2, on: &board)
        #expect(!board.isOver && board.exitCode == 4)
        happen("done", to: 2..<3, on: &board)
        #expect(board.isOver && board.exitCode == 0 && board.summary == "3 of 3 done")
        #expect(board.entries.allSatisfy { $0.settledAfter == 5 })
    }

    @Test("takes what the relay answers about single pushes")
    func states() {
        var board = board(2)
        var state = Control.PushState(
            identity: "I0", wait: .done, state: "reached", failure: nil, stages: [.accepted, .taken, .done],
            position: "its handler is done")
        board.take(state, of: 0, after: 7)
        #expect(board.counts == (1, 0, 1) && board.entries[0].settledAfter == 7)
        (state.state, state.failure, state.stages) = ("failed", "it expired", [.accepted])
        board.take(state, of: 1, after: 9)
        #expect(board.isOver && board.exitCode == 5)
        #expect(board.entries[1].words(.done) == ("failed", "it expired"))
    }

    @Test("ends with 0 when the quorum has, and goes on while it may")
    func quorum() {
        var board = board(10, quorum: 75)
        #expect(board.needed == 8)
        happen("gaveUp", to: 0..<2, on: &board)
        happen("done", to: 2..<9, on: &board)
        #expect(!board.isOver && board.exitCode == 4)
        happen("done", to: 9..<10, on: &board)
        #expect(board.isOver && board.exitCode == 0)
        #expect(board.summary == "8 of 10 done, 2 failed, 8 needed")
    }

    @Test("ends with 5 when too many have failed, and waits for the others first")
    func failures() {
        var board = board(3)
        happen("gaveUp", to: 0..<1, on: &board)
        #expect(!board.isOver && board.exitCode == 5)
        happen("done", to: 1..<3, on: &board)
        #expect(board.isOver && board.exitCode == 5)
        guard case .failed = board.entries[0].state(.done) else {
            Issue.record("a dead letter has failed")
            return
        }
    }

    @Test("takes a refusal as a failure, and a lost answer as nothing")
    func answers() {
        var board = WaitBoard(
            [(SendTarget(token: "t0"), "i0"), (SendTarget(token: "t1"), "i1")], .accepted, quorum: 100)
        let refused = PushOutcome(status: 410, identity: "I0", reason: "Unregistered", timestamp: nil)
        board.take(.success(refused), of: 0, after: 1)
        board.take(.failure(.unprocessed), of: 1, after: 1)
        #expect(board.counts == (0, 1, 1))
        happen("stored", to: 1..<2, on: &board)
        #expect(board.counts == (1, 1, 0) && board.isOver && board.exitCode == 5)
    }
}
