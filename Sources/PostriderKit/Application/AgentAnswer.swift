import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// Records whether an agent answers on the current connection, and tells the application why not.
final class AgentAnswer {
    private let path: String
    private let application: () -> Application?
    private unowned let loop: EventLoop
    /// Whether the agent has answered, and the status or message with which it, or another program, has refused.
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

    /// Starts a new connection attempt.
    func begin() {
        (isAnswered, refusal) = (false, nil)
        application()?.device.agentIsTried()
        patience.arm(afterMilliseconds: Limits.agentAnswerMilliseconds)
    }

    /// Reads the head of a response or its trailers.
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

    /// Handles the end of a connection, or of an attempt that failed.
    func end(_ reason: CloseReason, wasOpened: Bool, isWanted: Bool) {
        patience.disarm()
        guard isWanted else { return }
        let why = if case .refused(let text) = reason { text } else { reason.description }
        tell(why, wasOpened: wasOpened)
    }

    /// Tells the application why there is no agent. If an agent has answered before the connection ended, nothing is
    /// wrong yet: the next attempt shows whether it is gone.
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
