internal import CPostriderLinux
internal import Glibc
internal import Synchronization

/// The only way from another thread into a loop: messages under a lock, and an eventfd that is written only if the
/// mailbox was empty. The receiver takes all messages at once by swapping arrays, so the lock and the system call are
/// paid per turn and not per message.
public final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Mutex<[Message]>([])
    private let capacity: Int
    private let bell: Descriptor

    /// Creates an empty mailbox for at most `capacity` messages.
    public init(capacity: Int) throws(TransportError) {
        precondition(capacity > 0)
        self.capacity = capacity
        do {
            let flags = Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)
            bell = Descriptor(owning: Int32(try systemCall("eventfd") { Int(eventfd(0, flags)) }.get()))
        } catch {
            throw TransportError("Cannot make a mailbox: \(error.text).")
        }
    }

    /// Posts one message, from any thread. Returns false, and drops the message, if the mailbox is full.
    public func post(_ message: Message) -> Bool {
        var wasEmpty = false
        let isPosted = messages.withLock { messages in
            guard messages.count < capacity else { return false }
            wasEmpty = messages.isEmpty
            messages.append(message)
            return true
        }
        if wasEmpty { ring() }
        return isPosted
    }

    /// Posts as many messages as there is room for, in order, and leaves the others in `batch`. Returns whether all
    /// were posted.
    public func post(contentsOf batch: inout [Message]) -> Bool {
        guard !batch.isEmpty else { return true }
        var wasEmpty = false
        let posted = messages.withLock { messages in
            let room = min(max(0, capacity - messages.count), batch.count)
            wasEmpty = messages.isEmpty && room > 0
            messages.append(contentsOf: batch[..<room])
            return room
        }
        batch.removeFirst(posted)
        if wasEmpty { ring() }
        return batch.isEmpty
    }

    /// Posts one message from any thread even if the mailbox is full. This is for few messages that must arrive
    /// however busy the receiver is.
    public func postEvenIfFull(_ message: Message) {
        let wasEmpty = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        if wasEmpty { ring() }
    }

    /// The number of messages in the mailbox at this moment.
    public var count: Int { messages.withLock { $0.count } }

    /// Takes all messages. The storage of `empty` becomes the mailbox's new storage.
    package func take(into empty: inout [Message]) {
        precondition(empty.isEmpty)
        messages.withLock { swap(&$0, &empty) }
    }

    /// The eventfd to watch. It is watched edge-triggered, so nobody has to read it.
    package var bellNumber: Int32 { bell.number }

    private func ring() {
        var one: UInt64 = 1
        _ = systemCall("write") { unsafe write(bell.number, &one, 8) }
    }
}
