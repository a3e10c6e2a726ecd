internal import CPostriderCrypto

/// OpenSSL as a whole.
public enum OpenSSL {
    /// Makes OpenSSL keep its state until the process has ended. Call it before anything else of this module.
    ///
    /// By default OpenSSL cleans up in `exit`, concurrently with threads that are ending. Both free what such a
    /// thread has in the library, and memory that is freed twice ends the process with SIGABRT
    /// (OPENSSL_init_crypto(3)).
    public static func stayUntilExit() {
        let isSet = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        precondition(isSet == 1, "OpenSSL takes this option before it does anything")
    }
}
