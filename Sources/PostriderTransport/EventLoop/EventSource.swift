/// What a loop watches: a connection, a listener, a mailbox, signals.
protocol EventSource: AnyObject {
    /// The descriptor is ready.
    func ready(_ readiness: Readiness)

    /// The loop ends; nothing follows.
    func loopStopped()
}

/// A mailbox on a loop. Its letters wait until the turn's sockets have been read.
protocol LetterSource: AnyObject {
    func deliver()
}

final class MailboxSource<Letter: Sendable>: EventSource, LetterSource {
    private let mailbox: Mailbox<Letter>
    private let receive: (inout [Letter]) -> Void
    private unowned let loop: EventLoop
    private var letters: [Letter] = []

    init(_ mailbox: Mailbox<Letter>, on loop: EventLoop, _ receive: @escaping (inout [Letter]) -> Void) {
        self.mailbox = mailbox
        self.loop = loop
        self.receive = receive
    }

    func ready(_ readiness: Readiness) { loop.heardBell(of: self) }

    func deliver() {
        mailbox.take(into: &letters)
        receive(&letters)
        letters.removeAll(keepingCapacity: true)
    }

    func loopStopped() {}
}
