import PostriderWeb

/// What becomes of bytes on a connection of HTTP/1.1, in pieces of a size. Each request is answered at once.
struct Client {
    private(set) var requests: [WebRequest] = []
    private(set) var violation: HTTPViolation?
    private(set) var connection = HTTP1Connection()
    private(set) var answers = ""

    init(_ text: String, pieces size: Int = .max, answering response: WebResponse? = WebResponse(status: 204))
    {
        self.init(Array(text.utf8), pieces: size, answering: response)
    }

    init(
        _ bytes: [UInt8], pieces size: Int = .max, answering response: WebResponse? = WebResponse(status: 204)
    ) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(piece.count)
            connection.receive(piece.span)
            read(response)
        }
    }

    private mutating func read(_ response: WebResponse?) {
        do throws(HTTPViolation) {
            while let request = try connection.next() {
                requests.append(request)
                guard let response else { break }
                connection.answer(response)
            }
        } catch {
            violation = error
        }
        answers += String(decoding: connection.output, as: UTF8.self)
        connection.output = []
    }
}
