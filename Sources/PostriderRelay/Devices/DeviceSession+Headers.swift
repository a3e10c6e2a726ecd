import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// The header blocks of gRPC over HTTP/2 ("PROTOCOL-HTTP2", Responses).
extension DeviceSession {
    /// Refuses a call before anything was said: a response of trailers only.
    func refuse(_ stream: Int32, _ status: GRPCStatus, _ message: String) {
        refuse(stream, with: Self.responseHead, status, message)
    }

    /// Refuses a request that is no gRPC. A provider may have taken this port for its own, and would take a 200 for its
    /// push's.
    func refuseStranger(_ stream: Int32) {
        refuse(
            stream, with: [":status": "415", "content-type": "application/grpc"], .invalidArgument,
            "Devices connect to this port, by gRPC: content-type must be application/grpc.")
    }

    private func refuse(
        _ stream: Int32, with head: HeaderBlock, _ status: GRPCStatus, _ message: String
    ) {
        var block = head
        Self.add(status, message, to: &block)
        endpoint.streams.respond(stream, block)
    }

    static let responseHead: HeaderBlock = [":status": "200", "content-type": "application/grpc"]

    static func trailers(_ status: GRPCStatus, _ message: String) -> HeaderBlock {
        var block = HeaderBlock()
        add(status, message, to: &block)
        return block
    }

    static func add(_ status: GRPCStatus, _ message: String, to block: inout HeaderBlock) {
        block.add("grpc-status", String(status.rawValue))
        if !message.isEmpty {
            let encoded = GRPCMessage.encode(message)
            block.add("grpc-message", encoded.span)
        }
    }
}
