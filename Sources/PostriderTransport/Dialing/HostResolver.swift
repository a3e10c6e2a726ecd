/// Resolves host names. `SystemResolver` of `PostriderSystem` asks the C library.
public protocol HostResolver {
    /// Begins to resolve a host name.
    ///
    /// - Parameters:
    ///   - port: the port of the addresses in the answer.
    ///   - receive: called once on the loop, after this call has returned and unless the query is cancelled, with at
    ///     least one address, the preferred one first, or with an error.
    /// - Throws: `TransportError` if the query cannot begin; then `receive` is not called.
    func lookUp(
        _ host: String, port: UInt16, on loop: EventLoop,
        receive: @escaping (Result<[SocketAddress], TransportError>) -> Void
    ) throws(TransportError) -> any HostQuery
}

/// A query for the addresses of a host.
public protocol HostQuery: AnyObject {
    /// Cancels the query. Must not be called after the answer has arrived.
    func cancel()
}
