import PostriderCourier
import PostriderHTTP2

/// The header blocks of gRPC over HTTP/2 ("PROTOCOL-HTTP2", Responses).
enum GRPCResponse {
    static let head: HeaderBlock = [":status": "200", "content-type": "application/grpc"]

    /// The head for a request that is not gRPC. It may be from a provider that took the devices' port for its own: a
    /// 200 would look like that of a push.
    static let strangersHead: HeaderBlock = [":status": "415", "content-type": "application/grpc"]

    static func trailers(_ status: GRPCStatus, _ message: String) -> HeaderBlock {
        var block = HeaderBlock()
        add(status, message, to: &block)
        return block
    }

    /// Adds the trailers to a block. Added to a head, they make a response of trailers only.
    static func add(_ status: GRPCStatus, _ message: String, to block: inout HeaderBlock) {
        block.add("grpc-status", String(status.rawValue))
        if !message.isEmpty {
            let encoded = GRPCMessage.encode(message)
            block.add("grpc-message", encoded.span)
        }
    }
}
