import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderRelay
import PostriderTransport

/// Shows server-sent events of a relay's control socket, until the relay ends or the reader is gone.
struct EventWatch: Sendable {
    let client: ControlClient
    let path: String
    /// What the relay did not say if it refuses without a sentence, such as `what happens to devices`.
    let subject: String

    /// - Parameter show: prints an event; returns false if the reader is gone.
    func run(_ show: @escaping @Sendable (EventStreamClient.Event) -> Bool) async throws {
        let end: EventStreamClient.End? = try await LoopThread.run("watch") { [client, path] loop in
            var end: EventStreamClient.End?
            let follower = EventStreamClient.follow(
                path, of: Server(socket: client.address), on: loop
            ) { [unowned loop] event in
                if !show(event) { loop.stop() }
            } ended: { [unowned loop] reason in
                end = reason
                loop.stop()
            }
            return { withExtendedLifetime(follower) { end } }
        }
        switch end {
        case nil: return
        case .answer(let status, let body):
            let refusal = try? JSONDecoder().decode(Control.Refusal.self, from: Data(body))
            throw CommandFailure(
                refusal?.sentence ?? "The relay at \(client.address) did not say \(subject).",
                exitCode: status == 400 ? 2 : 1)
        case .connection(.refused(let reason)):
            throw CommandFailure(
                "No relay answers at \(client.address) (refused: \(reason)): start it, name its socket with "
                    + "--control, or ask as root or its own user.")
        case .connection(let reason):
            throw CommandFailure(
                "The relay at \(client.address) ended the connection (\(reason)): only root and its own user "
                    + "may use it, and events that come now are not shown.")
        }
    }
}
