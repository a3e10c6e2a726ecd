import PostriderSystem
import PostriderTransport

/// A Unix socket that accepts connections and closes each at once.
final class UnansweredSocket: Sendable {
    private let mailbox: Mailbox<Bool>

    /// Returns when the socket listens.
    init(_ path: String) async throws {
        let (mailbox, address) = (try Mailbox<Bool>(capacity: 1), try SocketAddress(unixPath: path))
        let isOpen = Journal<Bool>()
        _ = try Thread.spawn(name: "unanswered") {
            guard let loop = try? EventLoop() else { return isOpen.note(false) }
            try? loop.attach(mailbox) { [unowned loop] _ in loop.stop() }
            let listener = try? loop.listen(address) { _ in nil }
            isOpen.note(listener != nil)
            withExtendedLifetime(listener) { loop.run() }
        }
        self.mailbox = mailbox
        _ = await isOpen.first(1)
    }

    deinit { _ = mailbox.post(true) }
}
