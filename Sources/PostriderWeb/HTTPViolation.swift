/// How a client breaks the rules of HTTP/1.1. It gets one answer, and the connection ends.
package struct HTTPViolation: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of the answer.
    package let status: Int
    /// One sentence for the client and for the log.
    package let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }

    static let longHead = HTTPViolation(431, "The head of the request is too large.")
    static let longBody = HTTPViolation(413, "The body of the request is too large.")
    static let wrongLine = HTTPViolation(400, "A line of the request does not end with CR LF.")
    static let wrongRequestLine = HTTPViolation(400, "The request line is malformed.")
    static let wrongField = HTTPViolation(400, "A field of the request is malformed.")
    static let wrongVersion = HTTPViolation(505, "This port speaks HTTP/1.1 and HTTP/2.")
    static let wrongHost = HTTPViolation(400, "A request has exactly one Host field.")
    static let ambiguousLength = HTTPViolation(400, "The request states the length of its body in two ways.")
    static let wrongLength = HTTPViolation(400, "The Content-Length of the request is malformed.")
    static let wrongCoding = HTTPViolation(501, "The only transfer coding here is chunked.")
    static let wrongChunk = HTTPViolation(400, "A chunk of the request is malformed.")
    static let wrongExpectation = HTTPViolation(417, "The only expectation here is 100-continue.")
}
