/// The head of a request: its method, its target and its fields, from HTTP/1.1 or from HTTP/2.
package struct RequestHead: Sendable, Equatable {
    /// One field of the head.
    package struct Field: Sendable, Equatable {
        /// The name, in lower case.
        package let name: String
        /// The value without the white space around it.
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The method, such as `POST`.
    package let method: String
    /// The path with the query, from the first `/` on.
    package let target: String
    /// The fields in their order.
    package let fields: [Field]
    /// Whether HTTP/1.0 was spoken.
    package let isOfHTTP10: Bool

    package init(method: String, target: String, fields: [Field], isOfHTTP10: Bool = false) {
        self.method = method
        self.target = target
        self.fields = fields
        self.isOfHTTP10 = isOfHTTP10
    }

    /// The path: the target without its query.
    package var path: Substring { target.prefix { $0 != "?" } }

    /// All values of a field, in their order.
    package func values(of name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// The value of a field; nil if there is none, or more than one.
    package subscript(name: String) -> String? {
        let values = values(of: name)
        return values.count == 1 ? values[0] : nil
    }

    /// Whether a field is a list that contains this token, in any case (RFC 9110, section 5.6.1).
    package func lists(_ token: String, in name: String) -> Bool {
        values(of: name).contains { value in
            value.split(separator: ",").contains { $0.trimmedOfBlanks.lowercased() == token }
        }
    }
}

/// A request that has arrived to its end.
package struct WebRequest: Sendable, Equatable {
    /// Its head.
    package let head: RequestHead
    /// The body, of which at most one byte more is kept than a Web Push may have.
    package let body: [UInt8]

    package init(head: RequestHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

/// The answer to a request.
package struct WebResponse: Sendable, Equatable {
    /// The status code, three digits.
    package let status: Int
    /// The fields, without those that frame the message. Names are in lower case; neither names nor values contain
    /// control characters.
    package var fields: [RequestHead.Field]
    /// The body; empty for none.
    package let body: [UInt8]

    package init(status: Int, fields: [RequestHead.Field] = [], body: [UInt8] = []) {
        precondition((200...599).contains(status), "an answer is final")
        self.status = status
        self.fields = fields
        self.body = body
    }
}

extension StringProtocol {
    /// The text without spaces and tabs around it (OWS of RFC 9110, section 5.6.3).
    var trimmedOfBlanks: String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = utf8.drop(while: isBlank)
        let end = start.reversed().drop(while: isBlank)
        return String(decoding: Array(end.reversed()), as: UTF8.self)
    }
}
