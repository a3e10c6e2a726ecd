internal import CPostriderCrypto

/// The library that this module stands on, as a whole.
public enum OpenSSL {
    /// Has the library stay as it is until the process is gone. To be called before all else of this module.
    ///
    /// It would tidy up in `exit` otherwise, beside threads that are just ending: both let go of what such a thread has
    /// in the library, and memory that is freed twice ends the process with SIGABRT (OPENSSL_init_crypto(3)).
    public static func stayUntilExit() {
        let isSet = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        precondition(isSet == 1, "OpenSSL takes this option before it does anything")
    }
}
