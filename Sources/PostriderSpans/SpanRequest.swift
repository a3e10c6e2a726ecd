import PostriderCourier
import PostriderNotifications

/// A request to an OTLP receiver (`ExportTraceServiceRequest` of OpenTelemetry's protocol, in protobuf).
package enum SpanRequest {
    /// The media type of ``bytes(_:of:)``.
    package static let mediaType = "application/x-protobuf"
    /// The path below the base URL of a receiver.
    package static let path = "/v1/traces"

    /// Encodes spans of a relay.
    package static func bytes(_ spans: [PushSpan], of relay: SpanOrigin) -> [UInt8] {
        var output: [UInt8] = []
        output.appendField(1) { resource in
            resource.appendField(1) { attributes in
                attributes.appendAttribute(1, "service.name", "postrider")
                attributes.appendAttribute(1, "service.version", relay.version)
                attributes.appendAttribute(1, "host.name", relay.host)
            }
            resource.appendField(2) { scope in
                scope.appendField(1) { name in
                    name.appendField(1, "postrider")
                    name.appendField(2, relay.version)
                }
                for span in spans { scope.appendField(2, message: span.encode) }
            }
        }
        return output
    }
}

/// The relay whose spans are sent.
package struct SpanOrigin: Sendable {
    /// The version of its program.
    package let version: String
    /// The name of its machine.
    package let host: String

    /// An origin from its parts.
    package init(version: String, host: String) {
        self.version = version
        self.host = host
    }
}

extension PushSpan {
    /// Encodes a `Span`.
    fileprivate func encode(into output: inout [UInt8]) {
        output.appendField(1, Self.bytes(trace.high) + Self.bytes(trace.low))
        output.appendField(2, Self.bytes(identifier))
        output.appendField(3, push.context?.state ?? "")
        if parent != 0 { output.appendField(4, Self.bytes(parent)) }
        output.appendField(5, "\(kind.rawValue) \(push.topic.text)")
        output.appendField(6, kind.number)
        output.appendFixed(7, Self.nanoseconds(start))
        output.appendFixed(8, Self.nanoseconds(end))
        output.appendAttribute(9, "messaging.system", "postrider")
        output.appendAttribute(9, "messaging.destination.name", push.topic.text)
        output.appendAttribute(9, "messaging.message.id", "\(push.identity)")
        output.appendAttribute(9, "messaging.message.body.size", UInt64(push.payloadBytes))
        if let device = push.device { output.appendAttribute(9, "postrider.device", "\(device)") }
        if let channel = push.channel { output.appendAttribute(9, "postrider.channel", "\(channel)") }
        if let devices { output.appendAttribute(9, "postrider.devices", devices) }
        if let failure {
            output.appendField(15) { status in
                status.appendField(2, failure)
                status.appendField(3, 2)  // STATUS_CODE_ERROR
            }
        }
    }

    private static func bytes(_ word: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }

    private static func nanoseconds(_ moment: Moment) -> UInt64 {
        UInt64(clamping: moment.milliseconds).multipliedReportingOverflow(by: 1_000_000).partialValue
    }
}

extension PushSpan.Kind {
    /// The `SpanKind`.
    fileprivate var number: UInt64 {
        switch self {
        case .commit, .handOver: 1  // INTERNAL
        case .accept: 2  // SERVER
        case .deliver: 4  // PRODUCER
        case .observer: 5  // CONSUMER
        }
    }
}

extension [UInt8] {
    /// Appends a `KeyValue` with a text.
    fileprivate mutating func appendAttribute(_ number: UInt64, _ key: String, _ value: String) {
        appendField(number) { pair in
            pair.appendField(1, key)
            pair.appendField(2) { $0.appendElement(1, value) }
        }
    }

    /// Appends a `KeyValue` with a number.
    fileprivate mutating func appendAttribute(_ number: UInt64, _ key: String, _ value: UInt64) {
        appendField(number) { pair in
            pair.appendField(1, key)
            pair.appendField(2) { $0.appendPresentField(3, Int64(clamping: value)) }
        }
    }

    /// Appends a `fixed64` field.
    fileprivate mutating func appendFixed(_ number: UInt64, _ value: UInt64) {
        appendVarint(number << 3 | 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
