/// The reason why a proxy did not connect the client to its target.
public struct TunnelFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The predicate of a sentence whose subject is the proxy: what it did, and what the user can do.
    public let description: String

    init(_ description: String) { self.description = description }

    static let closed = TunnelFailure("closed the connection before it answered")
    static let excess = TunnelFailure("sent bytes of its own after its answer, which no proxy may")
    static let notHTTP = TunnelFailure(
        "does not answer as an HTTP proxy does: is it a proxy, and is its protocol http?")
    static let notSOCKS5 = TunnelFailure(
        "does not answer as a SOCKS 5 proxy does: is it a proxy, and is its protocol socks5?")
    static let longHead = TunnelFailure(
        "answers with a head of more than \(ConnectExchange.mostHeadBytes) bytes")
    static let wantsCredentials = "give a user in 'proxy' and the password in 'proxy-password-file'"
    static let wrongCredentials = "does not accept the user and the password"
}
