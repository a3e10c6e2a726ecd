import PostriderCourier
import PostriderNotifications
import Synchronization

/// The calls of the user notification centre to the agent that are not answered yet. They are made on any thread, and
/// their answers are received on the link's. If the connection ends before an answer, the call is sent again on the
/// next one.
final class CenterCalls: Sendable {
    /// Called once with all answers of the agent to a call.
    typealias Finish = @Sendable (Result<[CenterAnswer.Content], any Error>) -> Void

    private struct Call {
        let order: CenterOrder
        let finish: Finish
        /// Whether the call was sent on the current stream.
        var isSent = false
        /// The answers received so far.
        var answers: [CenterAnswer.Content] = []
    }

    private struct State {
        /// The calls by number.
        var calls: [UInt64: Call] = [:]
        var lastNumber: UInt64 = 0
        /// Whether the link has been told of calls that it has not taken yet.
        var isPosted = false
        /// The error of all calls from now on; nil while calls can be made.
        var end: ApplicationError?
    }

    /// The most calls that an application may have under way. Each takes about 300 bytes and its content.
    private static let mostCalls = 256

    private let topic: String
    private let state = Mutex(State())

    init(of topic: String) { self.topic = topic }

    /// Makes a call, and returns all of its answers.
    ///
    /// - Parameter post: tells the link that there are calls.
    func make(_ order: CenterOrder, _ post: @Sendable () -> Void) async throws -> [CenterAnswer.Content] {
        try checkSize(of: order)
        let number = drawNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let call = Call(order: order) { continuation.resume(with: $0) }
                do {
                    if try add(call, number, isCancelled: Task.isCancelled) { post() }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            let call = state.withLock { $0.calls.removeValue(forKey: number) }
            call?.finish(.failure(CancellationError()))
        }
    }

    /// Makes a call for a caller that does not await.
    ///
    /// - Parameter finish: called once, unless this throws.
    /// - Returns: whether the link has to be told.
    func make(_ order: CenterOrder, _ finish: @escaping Finish) throws -> Bool {
        try checkSize(of: order)
        return try add(Call(order: order, finish: finish), drawNumber())
    }

    private func drawNumber() -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Refuses a call that is too large. The agent would end the stream, and the call would be sent again on the next
    /// one.
    private func checkSize(of order: CenterOrder) throws(UserNotificationError) {
        var bytes: [UInt8] = []
        AppMessage.center(CenterCall(call: .max, topic: topic, order: order)).encode(into: &bytes)
        guard bytes.count <= Limits.appMessageBytes else {
            throw .refused("An agent takes \(Limits.appMessageBytes) bytes at once: ask for less.")
        }
    }

    /// Adds a call, unless its task was cancelled before it could be found here. Returns whether the link has to be
    /// told.
    private func add(
        _ call: Call, _ number: UInt64, isCancelled: @autoclosure () -> Bool = false
    ) throws -> Bool {
        let result: Result<Bool, any Error> = state.withLock { state in
            if let end = state.end { return .failure(end) }
            if isCancelled() { return .failure(CancellationError()) }
            guard state.calls.count < Self.mostCalls else {
                return .failure(
                    ApplicationError.unusable("The application asks more than the agent has answered."))
            }
            state.calls[number] = call
            defer { state.isPosted = true }
            return .success(!state.isPosted)
        }
        return try result.get()
    }

    /// Returns the calls that the link has to send now, in order; all of them on a new stream.
    func take(onNewStream isNew: Bool) -> [CenterCall] {
        state.withLock { state in
            state.isPosted = false
            var taken: [CenterCall] = []
            for number in state.calls.keys.sorted() {
                guard var call = state.calls[number], isNew || !call.isSent else { continue }
                call.isSent = true
                call.answers = []
                state.calls[number] = call
                taken.append(CenterCall(call: number, topic: topic, order: call.order))
            }
            return taken
        }
    }

    /// Handles an answer of the agent.
    func answered(_ answer: CenterAnswer) {
        let ended: Call? = state.withLock { state in
            guard var call = state.calls[answer.call] else { return nil }
            call.answers.append(answer.content)
            if case .item = answer.content {
                state.calls[answer.call] = call
                return nil
            }
            state.calls[answer.call] = nil
            return call
        }
        guard let ended else { return }
        switch answer.content {
        case .refused(_, isForbidden: true):
            ended.finish(.failure(UserNotificationError.notificationsNotAllowed))
        case .refused(let reason, isForbidden: false):
            ended.finish(.failure(UserNotificationError.refused(reason)))
        case .unknown:
            ended.finish(
                .failure(
                    UserNotificationError.refused("The agent is of a later version than this app's kit.")))
        case .done, .item, .authorization, .categories, .settings: ended.finish(.success(ended.answers))
        }
    }

    /// Fails all calls that are not answered, and all later ones.
    func end(_ error: ApplicationError) {
        let calls = state.withLock { state in
            state.end = state.end ?? error
            defer { state.calls = [:] }
            return state.calls.values
        }
        for call in calls { call.finish(.failure(error)) }
    }
}
