public import PostriderCaptures
public import PostriderTransport

/// A server that `postrider dev --upstream` passes the requests of providers on to.
public protocol Upstream: Sendable {
    /// The address of the server for logs.
    var place: String { get }

    /// Makes a connection for the requests of one provider's connection, because APNs remembers the provider of a
    /// connection. It is opened with the first request, and closed when it is released.
    ///
    /// - Parameter scheduler: the shard's event loop, on which everything happens.
    func makeConnection(on scheduler: any Scheduler) -> any UpstreamConnection
}

/// The way to an ``Upstream`` for one provider's connection. It connects anew when a connection has ended.
public protocol UpstreamConnection: AnyObject {
    /// Passes a request on.
    ///
    /// - Parameter completion: called once, on the loop, and not after the connection was released. It may be called
    ///   before this call returns.
    func send(_ request: UpstreamRequest, completion: @escaping (UpstreamResult) -> Void)
}

/// A provider's request for another server.
public struct UpstreamRequest: Sendable, Equatable {
    /// The HTTP method.
    public var method: String
    /// The path.
    public var path: String
    /// The other fields in their order, without those that name the first server.
    public var fields: [Capture.Field]
    /// The body.
    public var body: [UInt8]
}

/// What became of a request that was passed on.
public enum UpstreamResult: Sendable, Equatable {
    /// The server's response: its status, all other fields in their order, and its body.
    case response(status: Int, fields: [Capture.Field], body: [UInt8])
    /// The server reset the stream with this error code (RFC 9113, section 7).
    case reset(errorCode: UInt32)
    /// The server did not get the request, because of this (a clause without a full stop).
    case notSent(String)
    /// There was no response, and the server may have processed the request; the reason is a clause without a full
    /// stop.
    case lost(String)
}

extension UpstreamResult {
    /// Why there was no response, as a clause without a full stop; nil if there was one.
    var error: String? {
        switch self {
        case .response: nil
        case .reset(let errorCode): "the server reset the stream with HTTP/2 error \(errorCode)"
        case .notSent(let reason), .lost(let reason): reason
        }
    }
}
