/// How a client breaks the rules of WebSocket: the code of the close frame (RFC 6455, section 7.4.1).
package struct WebSocketViolation: Error, Sendable, Equatable, CustomStringConvertible {
    /// The code.
    package let code: UInt16
    /// One sentence for the log.
    package let description: String

    private init(_ code: UInt16, _ description: String) {
        self.code = code
        self.description = description
    }

    static let reserved = Self(1002, "A frame has reserved bits or an unknown opcode; nothing is compressed.")
    static let unmasked = Self(1002, "A frame of the client is not masked.")
    static let wrongLength = Self(1002, "The length of a frame is malformed.")
    static let wrongControl = Self(1002, "A control frame is longer than 125 bytes or fragmented.")
    static let wrongOrder = Self(1002, "The fragments of messages are mixed up.")
    static let wrongClose = Self(1002, "A close frame is malformed.")
    static let binary = Self(1003, "Messages are texts.")
    static let wrongText = Self(1007, "A text is not UTF-8.")
    static let manyFragments = Self(1008, "A message has too many fragments.")
    static let longMessage = Self(1009, "A message is too large.")

    /// Whether a peer may send this code in a close frame (RFC 6455, section 7.4).
    static func maySend(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
