internal import CPostriderLinux
internal import Glibc
internal import Synchronization

/// The only way from one thread into another's loop: messages under a lock, and an eventfd that is written to only
/// when the mailbox was empty. The receiver takes all messages at once by swapping arrays, so a lock and a
/// system call are paid per turn, not per message.
public final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Mutex<[Message]>([])
    private let capacity: Int
    private let bell: Descriptor

    /// An empty box for at most `capacity` messages.
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

    /// Posts one message, from any thread. False: the box is full, and the message is not in it.
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

    /// Posts as many messages as there is room for, in order, and leaves the others in `batch`. True: all of
    /// them.
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

    /// Posts one message, from any thread, into a full box too: for the few in a box's life that must arrive
    /// however busy its reader is.
    public func postEvenIfFull(_ message: Message) {
        let wasEmpty = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        if wasEmpty { ring() }
    }

    /// How many messages are in it, at this moment.
    public var count: Int { messages.withLock { $0.count } }

    /// Takes everything; `empty` becomes the new box and gives its storage to it.
    func take(into empty: inout [Message]) {
        precondition(empty.isEmpty)
        messages.withLock { swap(&$0, &empty) }
    }

    /// Where the bell is heard: watched edge-triggered, it never needs to be read.
    var bellNumber: Int32 { bell.number }

    private func ring() {
        var one: UInt64 = 1
        _ = systemCall("write") { unsafe write(bell.number, &one, 8) }
    }
}
