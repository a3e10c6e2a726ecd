import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

/// A call to the agent that is not answered yet.
struct PendingCall {
    let order: CenterOrder
    /// Called once with the result.
    let finish: @Sendable (Result<[CenterAnswer.Content], any Error>) -> Void
    /// Whether the call was sent on the current stream.
    var isSaid = false
    /// The answers received so far.
    var answers: [CenterAnswer.Content] = []
}

// The calls of the user notification centre, made on any thread, and their answers, received on the link's thread.
extension Application {
    /// The most calls that an application may have under way. Each takes about 300 bytes and its content.
    private static let mostCalls = 256

    /// Sends a call to the agent and returns all of its answers. If the connection ends before the answer, the call
    /// is sent again on the next one.
    func call(_ order: CenterOrder) async throws -> [CenterAnswer.Content] {
        let mailbox = try startedMailbox()
        try checkSize(of: order)
        let number = drawTicket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let call = PendingCall(order: order) { continuation.resume(with: $0) }
                if let error = enter(call, number, mailbox, isCancelled: Task.isCancelled) {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            let call = state.withLock { $0.calls.removeValue(forKey: number) }
            call?.finish(.failure(CancellationError()))
        }
    }

    /// Sends a call to the agent for a caller that does not await.
    ///
    /// - Parameter completion: called once with the agent's answers, unless this throws.
    func call(
        _ order: CenterOrder,
        _ completion: @escaping @Sendable (Result<[CenterAnswer.Content], any Error>) -> Void
    ) throws {
        let mailbox = try startedMailbox()
        try checkSize(of: order)
        let call = PendingCall(order: order, finish: completion)
        if let error = enter(call, drawTicket(), mailbox, isCancelled: false) { throw error }
    }

    private func drawTicket() -> UInt64 {
        state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
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

    /// Adds a call. Returns the error if it cannot be made; nil if it is under way.
    private func enter(
        _ call: PendingCall, _ number: UInt64, _ mailbox: Mailbox<LinkCommand>, isCancelled: Bool
    ) -> (any Error)? {
        state.withLock { state in
            if state.isStopped { return ApplicationError.stopped }
            if isCancelled { return CancellationError() }
            guard state.calls.count < Self.mostCalls else {
                return ApplicationError.unusable("The application asks more than the agent has answered.")
            }
            state.calls[number] = call
            if !state.isCallPosted { mailbox.postEvenIfFull(.calls) }
            state.isCallPosted = true
            return nil
        }
    }

    /// The calls that the link has to send now, in order; all of them on a new stream.
    func takeCalls(onNewStream isNew: Bool) -> [CenterCall] {
        state.withLock { state in
            state.isCallPosted = false
            var taken: [CenterCall] = []
            for number in state.calls.keys.sorted() {
                guard var call = state.calls[number], isNew || !call.isSaid else { continue }
                call.isSaid = true
                call.answers = []
                state.calls[number] = call
                taken.append(CenterCall(call: number, topic: topic, order: call.order))
            }
            return taken
        }
    }

    /// Handles an answer of the agent.
    func answered(_ answer: CenterAnswer) {
        let ended: PendingCall? = state.withLock { state in
            guard var call = state.calls[answer.call] else { return nil }
            if case .item = answer.content {} else { state.calls[answer.call] = nil }
            call.answers.append(answer.content)
            if state.calls[answer.call] != nil { state.calls[answer.call] = call }
            return state.calls[answer.call] == nil ? call : nil
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

    /// Fails all calls that are not answered.
    func failCalls(_ error: ApplicationError) {
        let calls = state.withLock { state in
            defer { state.calls = [:] }
            return state.calls.values
        }
        for call in calls { call.finish(.failure(error)) }
    }
}
