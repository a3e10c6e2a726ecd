package import PostriderNotifications

// The message `TraceContext`, in which each message of a push has the trace context of the push's provider.
extension TraceContext {
    /// Appends the encoded message.
    package func encode(into output: inout [UInt8]) {
        output.appendField(1, parent)
        if let state { output.appendField(2, state) }
    }

    /// Decodes the message. It is nil if the context is not valid, which is no error: it counts as missing.
    package static func decode(_ bytes: Span<UInt8>) throws(CourierError) -> TraceContext? {
        var reader = ProtobufReader()
        var (parent, state) = ("", "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: parent = try field.text(in: bytes)
            case 2: state = try field.text(in: bytes)
            default: break
            }
        }
        return TraceContext(parent: parent, state: state.isEmpty ? nil : state)
    }

    /// The number of bytes that ``encode(into:)`` appends.
    var byteCount: Int {
        ProtobufSize.field(length: parent.utf8.count) + ProtobufSize.field(length: state?.utf8.count ?? 0)
    }
}
