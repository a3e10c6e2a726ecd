internal import Glibc

/// A value behind a lock, for the one thing that threads share: the letters of a mailbox.
///
/// It is a pthread mutex, because ThreadSanitizer knows what that orders; of Swift's `Mutex` it knows nothing on Linux and
/// reports every use as a race, and with it everything that crosses in a letter. Unchecked: the value is touched under
/// the lock only, which the compiler cannot see.
@safe final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let result = unsafe pthread_mutex_init(mutex, nil)
        precondition(result == 0, "a default mutex can be made")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Keep it short: nothing is called in here that takes another lock or waits.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
