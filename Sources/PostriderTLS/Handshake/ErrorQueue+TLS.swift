internal import CPostriderSSL
internal import PostriderCrypto

extension ErrorQueue {
    /// Whether the oldest reason in the queue is that a peer's first bytes are not TLS.
    static var isNotTLS: Bool {
        let code = ERR_peek_error()
        let reasons = [SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST]
        return reasons.contains(ERR_GET_REASON(code))
    }
}
