internal import CPostriderLinux
internal import Glibc
internal import Synchronization

/// The only way from one thread into another's loop: letters under a lock, and a bell that is rung only
/// when the box was empty. The receiver takes all letters at once by swapping arrays, so a lock and a
/// system call are paid per turn, not per letter.
public final class Mailbox<Letter: Sendable>: Sendable {
    private let letters = Mutex<[Letter]>([])
    private let capacity: Int
    private let bell: Descriptor

    /// An empty box for at most `capacity` letters.
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

    /// Posts one letter, from any thread. False: the box is full, and the letter is not in it.
    public func post(_ letter: Letter) -> Bool {
        var wasEmpty = false
        let isPosted = letters.withLock { letters in
            guard letters.count < capacity else { return false }
            wasEmpty = letters.isEmpty
            letters.append(letter)
            return true
        }
        if wasEmpty { ring() }
        return isPosted
    }

    /// Posts as many letters as there is room for, in order, and leaves the others in `batch`. True: all of
    /// them.
    public func post(contentsOf batch: inout [Letter]) -> Bool {
        guard !batch.isEmpty else { return true }
        var wasEmpty = false
        let posted = letters.withLock { letters in
            let room = min(max(0, capacity - letters.count), batch.count)
            wasEmpty = letters.isEmpty && room > 0
            letters.append(contentsOf: batch[..<room])
            return room
        }
        batch.removeFirst(posted)
        if wasEmpty { ring() }
        return batch.isEmpty
    }

    /// Posts one letter, from any thread, into a full box too: for the few in a box's life that must arrive
    /// however busy its reader is.
    public func postEvenIfFull(_ letter: Letter) {
        let wasEmpty = letters.withLock { letters in
            letters.append(letter)
            return letters.count == 1
        }
        if wasEmpty { ring() }
    }

    /// How many letters are in it, at this moment.
    public var count: Int { letters.withLock { $0.count } }

    /// Takes everything; `empty` becomes the new box and gives its storage to it.
    func take(into empty: inout [Letter]) {
        precondition(empty.isEmpty)
        letters.withLock { swap(&$0, &empty) }
    }

    /// Where the bell is heard: watched edge-triggered, it never needs to be read.
    var bellNumber: Int32 { bell.number }

    private func ring() {
        var one: UInt64 = 1
        _ = systemCall("write") { unsafe write(bell.number, &one, 8) }
    }
}
