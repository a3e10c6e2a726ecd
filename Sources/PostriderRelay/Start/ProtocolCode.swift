/// Whether our code handles parts of HTTP/2, where it is faster or smaller, or nghttp2 handles everything
/// (docs/internals/own-protocol-code.md).
public struct ProtocolCode: Hashable, Sendable {
    /// What decodes the header blocks of providers' requests (HPACK, RFC 7541): the setting `request-headers`.
    public enum RequestHeaders: String, CaseIterable, Sendable {
        case own, nghttp2
    }

    /// The engine of a device's link once it is open: the setting `device-links`.
    public enum DeviceLinks: String, CaseIterable, Sendable {
        /// A few counters of our own.
        case lean
        case nghttp2
    }

    /// What decodes the header blocks of providers' requests.
    public var requestHeaders = RequestHeaders.own
    /// The engine of a device's link once it is open.
    public var deviceLinks = DeviceLinks.lean

    /// The defaults, for production.
    public init() {}

    /// nghttp2 everywhere.
    public static let nghttp2: ProtocolCode = {
        var code = ProtocolCode()
        code.requestHeaders = .nghttp2
        code.deviceLinks = .nghttp2
        return code
    }()
}
