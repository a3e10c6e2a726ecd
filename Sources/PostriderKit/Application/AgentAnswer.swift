import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// Whether an agent answers on the present connection, and why not: what the application is told of it.
final class AgentAnswer {
    private let path: String
    private let application: () -> Application?
    private unowned let loop: EventLoop
    /// Whether the agent has answered, and what it or another program has refused with.
    private var isAnswered = false
    private var refusal: String?
    private lazy var patience = loop.makeTimer { [unowned self] in
        tell("no answer within \(Limits.agentAnswerMilliseconds / 1000) seconds", wasOpened: true)
    }

    init(at address: SocketAddress, on loop: EventLoop, _ application: @escaping () -> Application?) {
        path = address.unixPath ?? "\(address)"
        self.loop = loop
        self.application = application
    }

    /// A connection is asked for.
    func begin() {
        (isAnswered, refusal) = (false, nil)
        application()?.agentIsTried()
        patience.arm(afterMilliseconds: Limits.agentAnswerMilliseconds)
    }

    /// The head of a response, or its trailers.
    func take(_ block: borrowing HeaderBlock, _ kind: BlockKind) {
        if let status = block.text(of: "grpc-status"), status != "0" {
            let message = block.value(of: "grpc-message").map { GRPCMessage.decode($0.span) } ?? ""
            refusal = "grpc-status \(status)" + (message.isEmpty ? "" : ": " + message)
        } else if kind == .head, let status = block.text(of: ":status") {
            guard status == "200" else {
                refusal = "HTTP status \(status)"
                return
            }
            isAnswered = true
            patience.disarm()
            application()?.agentAnswered()
        }
    }

    /// The connection is gone, or none came about.
    func end(_ reason: CloseReason, wasOpened: Bool, isWanted: Bool) {
        patience.disarm()
        guard isWanted else { return }
        let why = if case .refused(let text) = reason { text } else { reason.description }
        tell(why, wasOpened: wasOpened)
    }

    /// Tells the application why there is no agent. The end of a connection to one that has answered is no fault: the
    /// next attempt tells more.
    private func tell(_ reason: String, wasOpened: Bool) {
        let sentence =
            if isAnswered {
                AgentFault.ended(path, because: refusal ?? reason)
            } else if wasOpened {
                AgentFault.noAgent(path, because: refusal ?? reason)
            } else {
                AgentFault.unreachable(path, because: reason)
            }
        application()?.agentUnreachable(sentence, isFault: !isAnswered || refusal != nil)
    }
}
