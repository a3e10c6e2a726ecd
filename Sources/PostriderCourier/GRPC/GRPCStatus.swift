import PostriderNotifications

/// The status of a call: the value of `grpc-status` (grpc.io, "Status codes and their use in gRPC").
public enum GRPCStatus: Int, CaseIterable, Sendable {
    case ok = 0
    case cancelled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case internalError = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16

    /// Reads a status from the bytes of `grpc-status`; anything but a known number is ``unknown``.
    public init(_ text: Span<UInt8>) {
        self = Self.allCases.first { text.spells(String($0.rawValue)) } ?? .unknown
    }

    /// The status for a response that ended without `grpc-status`, by its HTTP status (gRPC, "HTTP to gRPC status
    /// code mapping").
    public init(httpStatus: Int) {
        switch httpStatus {
        case 400: self = .internalError
        case 401: self = .unauthenticated
        case 403: self = .permissionDenied
        case 404: self = .unimplemented
        case 429, 502, 503, 504: self = .unavailable
        default: self = .unknown
        }
    }
}

/// The value of `grpc-message`: UTF-8, with `%` and everything outside printable ASCII percent-encoded (gRPC,
/// "PROTOCOL-HTTP2", Status-Message).
public enum GRPCMessage {
    /// Encodes a text as the bytes of the header.
    public static func encode(_ text: String) -> [UInt8] {
        var header = [UInt8]()
        header.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                header.append(byte)
            } else {
                header.append(UInt8(ascii: "%"))
                header.append(upperCaseDigit(byte >> 4))
                header.append(upperCaseDigit(byte & 0x0F))
            }
        }
        return header
    }

    /// Decodes the bytes of the header. Invalid encodings are kept unchanged, because the message is for people and
    /// must never cause an error.
    public static func decode(_ header: Span<UInt8>) -> String {
        var text = [UInt8]()
        text.reserveCapacity(header.count)
        var index = 0
        while index < header.count {
            if header[index] == UInt8(ascii: "%"), index + 2 < header.count,
                let high = Hexadecimal.value(header[index + 1]),
                let low = Hexadecimal.value(header[index + 2])
            {
                text.append(high << 4 | low)
                index += 3
            } else {
                text.append(header[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func upperCaseDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x41 + value - 10
    }
}
